"""Few connections for many requests: the pool of a process, and PgBouncer in transaction mode before the server."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests import dumps, pgbouncer, postgres
from tests.builders.archives import module_zip
from tests.live import start_live
from tests.oci.manifests.documents import IMAGE, digest_of, image
from tests.site.processes import eventually

pytestmark = [
    pytest.mark.live,
    pytest.mark.needs("postgres", "pgbouncer"),
]

READ = "/v1/modules/demo/hello/local/versions"
OWN = 3  # connections of each process
EXHAUSTED = "database_connections_exhausted"


@pytest.fixture(scope="module")
def server():
    found = postgres.Server()
    dumps.fill(found.url)
    return found


@pytest.fixture(scope="module")
def pooled(server, tmp_path_factory):
    """Two web processes and a worker, with three connections each, share two sessions of the server."""
    few = {"LARDER_WEB_PROCESSES": "2", "LARDER_DATABASE_CONNECTIONS": str(OWN)}
    folder = tmp_path_factory.mktemp("pooled")
    with (
        pgbouncer.before(server, size=2) as url,
        start_live(
            folder, why="its database is behind PgBouncer, with too few connections", LARDER_DATABASE_URL=url, **few
        ) as larder,
    ):
        with psycopg.connect(server.url, autocommit=True) as connection:  # those from before the role had its time-outs
            others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
        yield larder


@pytest.fixture
def sql(server):
    with psycopg.connect(server.url, autocommit=True) as connection:
        yield connection


def at_once(larder, count, path=READ):
    """Each with another query, so that none has a ready answer and all ask the database."""
    with larder.client() as client, ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda number: client.get(f"{path}?{count}-{number}"), range(count)))


def events(larder, name):
    lines = [line for line in larder.output.read_text().splitlines() if line.startswith("{")]
    return [event for event in map(json.loads, lines) if event.get("event") == name]


def requests(larder, status):
    return [event for event in events(larder, "request") if event["status"] == status]


def test_everything_works_in_transaction_mode(pooled, sql):
    token = pooled.token()
    with pooled.client(token) as client:
        assert client.put("/api/v1/namespaces/acme", json={"visibility": "private"}).status_code == 201
        assert pooled.publish("acme/vpc/aws", "1.0.0", module_zip(), token)["state"] == "published"
        assert [
            one["version"] for one in client.get("/v1/modules/acme/vpc/aws/versions").json()["modules"][0]["versions"]
        ]
        push(client, "/v2/acme/vpc/aws")
    pooled.manage("migrate")

    assert {answer.status_code for answer in at_once(pooled, 60)} == {200}
    sessions = sql.execute("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'").fetchone()
    assert sessions[0] <= 2 + 1, "PgBouncer's two, and ours"


def push(client, repository):
    """A blob in a session of two chunks, and the manifest that names it."""
    config, layer = b"{}", b"a layer of two chunks"
    for blob in (config, layer):
        url = client.post(f"{repository}/blobs/uploads/").headers["Location"]
        assert client.patch(url, content=blob[:1]).status_code == 202
        assert client.patch(url, content=blob[1:]).status_code == 202
        assert client.put(url, params={"digest": digest_of(blob)}).status_code == 201
    manifest = image(config, layer)
    assert (
        client.put(f"{repository}/manifests/main", content=manifest, headers={"Content-Type": IMAGE}).status_code == 201
    )
    assert client.get(f"{repository}/manifests/main", headers={"Accept": IMAGE}).content == manifest


def test_the_settings_of_a_session_are_those_of_the_role(pooled, sql):
    url = pooled.environment["LARDER_DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as through:
        found = [through.execute(f"SHOW {name}").fetchone() for name in ("statement_timeout", "lock_timeout", "jit")]

    assert found == [("10s",), ("5s",), ("off",)]


def test_who_finds_no_connection_reads_503_and_the_log_says_so_once(pooled, server):
    """A locked table blocks its readers, and with them all connections of the process."""
    before = len(pooled.output.read_text())  # the fixture ended sessions, perhaps that of a job
    with psycopg.connect(server.url) as holder, ThreadPoolExecutor(1) as beside:
        holder.execute("LOCK TABLE accounts_namespace IN ACCESS EXCLUSIVE MODE")
        asked = beside.submit(at_once, pooled, 30)
        eventually(lambda: len(requests(pooled, 503)) > 2 * len(events(pooled, EXHAUSTED)) > 0)
        holder.rollback()
        answers = asked.result()

    refused = [answer for answer in answers if answer.status_code == 503]
    assert refused
    assert {answer.status_code for answer in answers} <= {200, 503}
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in refused)
    said = events(pooled, EXHAUSTED)
    assert 1 <= len(said) < len(refused), "once in ten seconds for each process, whatever many were refused"
    assert {one["connections"] for one in said} == {OWN}
    assert "Traceback" not in pooled.output.read_text()[before:]
    eventually(lambda: at_once(pooled, 1)[0].status_code == 200)


def test_slow_uploads_and_downloads_hold_no_connection(pooled):
    """More of them than connections, each in the middle of its body."""
    token, arrived, may_end = pooled.token(), threading.Semaphore(0), threading.Event()

    def slow():
        yield b"PK"
        arrived.release()
        may_end.wait(60)
        yield b"\x03\x04"

    def send(number):
        with pooled.client(token) as client:
            return client.put(f"/api/v1/modules/demo/slow/local/0.0.{number}", content=slow()).status_code

    with ThreadPoolExecutor(12) as pool:
        sent = [pool.submit(send, number) for number in range(2 * OWN * 2)]
        assert all(arrived.acquire(timeout=60) for _ in sent)
        assert {answer.status_code for answer in at_once(pooled, 20)} == {200}
        may_end.set()
        assert {one.result() for one in sent} == {202}
