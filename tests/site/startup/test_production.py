"""compose.production.yaml: its commands and variables run, its nginx in front, and only one of them signs."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
import redis

from registry_site.startup.bootstrap import OF_ROLE
from tests.builders.archives import module_zip
from tests.flows.crashing import check_signature, hand_in, make_key
from tests.live import ADMIN_PASSWORD, CHECKOUT, Live
from tests.production import METRICS_TOKEN, OURS, REDIS_ADMIN, Stack, running
from tests.programs import PRODUCTION
from tests.site.monitoring.test_metrics import samples_of
from tests.site.processes import eventually

pytestmark = [pytest.mark.live, pytest.mark.needs(*PRODUCTION)]

WHO_SIGNED = """
from apps.jobs.models import Job
for job in Job.objects.filter(kind__in=("make-signing-key", "sign-release")):
    print(job.worker.split(":")[1])
"""
SIGNATURES = "SELECT count(*) FROM audit_auditevent WHERE kind = 'namespace:release:signed'"
WITH_WEB_ROLE = ("web", "worker", "notify-worker", "upstream-worker")


@pytest.fixture(scope="module")
def production(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("production")) as stack:
        yield stack


def test_every_command_serves_and_only_the_signing_worker_signs(production: Stack, tmp_path: Path) -> None:
    larder = production.live
    token = larder.token()
    with larder.client(token) as client:
        make_key(client, "acme", "ed25519")
        module = larder.publish("acme/vpc/aws", "1.0.0", module_zip(), token)
        provider = larder.wait_for(client, hand_in(client, "acme", "1.0.0"))
        assert [module["state"], provider["state"]] == ["published", "published"], production.logs()
        check_signature(client, "acme", "1.0.0", tmp_path)
        location = client.get("/v1/modules/acme/vpc/aws/1.0.0/download").json()["location"].partition("?")[0]
        assert client.get(location, follow_redirects=True).content == module_zip()
        sign_with_another_key(larder, client)

    signed_by = set(larder.manage("shell", "--no-imports", "-v", "0", "-c", WHO_SIGNED).split())
    assert signed_by == {str(production.processes["signing-worker-0"].pid)}


def sign_with_another_key(larder: Live, client: httpx.Client) -> None:
    keys = "/api/v1/namespaces/acme/keys"
    client.post(keys, json={"generate": "ed25519"}).raise_for_status()
    eventually(lambda: [key["state"] for key in client.get(keys).json()["keys"]] == ["active"] * 2, what="the key")
    client.post("/api/v1/providers/acme/dns/1.0.0/resign").raise_for_status()
    eventually(lambda: larder.query(SIGNATURES) == 2, what="the new signature")


def test_both_web_servers_answer_pages_and_probes(production: Stack) -> None:
    with production.live.client() as client:
        client.get("/account/login/").raise_for_status()
        token = client.cookies["__Host-larder-csrf"]
        form = {"login": "admin", "password": ADMIN_PASSWORD, "csrfmiddlewaretoken": token}
        signed_in = client.post("/account/login/", data=form, headers={"Referer": production.live.url})
        assert signed_in.status_code == 302, signed_in.text
        for path in ("/", "/search", "/status", "/admin/", "/admin/signing/signingkey/", "/admin/audit/auditevent/"):
            assert client.get(path, follow_redirects=True).status_code == 200, path
    for port in production.webs.values():
        # As a probe asks: by an address that is not the public one.
        assert httpx.get(f"http://127.0.0.1:{port}/readyz", headers={"Host": "10.1.2.3:8080"}).status_code == 200


def test_each_process_is_healthy_by_its_own_check(production: Stack) -> None:
    modes = {"web": "web"} | dict.fromkeys((name for name in OURS if name.endswith("worker")), "worker")
    assert len(modes) == 5
    for name, mode in modes.items():
        words = [sys.executable, "-m", "registry_site.healthcheck", mode]
        done = subprocess.run(words, cwd=CHECKOUT, env=production.environment(f"{name}-0"), check=False)
        assert done.returncode == 0, name


def test_no_other_process_can_open_private_keys(production: Stack) -> None:
    named = [name for name, one in OURS.items() if "larder_signing_kek" in one["secrets"]]
    said = production.live.manage("check", "--deploy", "--fail-level", "ERROR")

    assert named == ["signing-worker"]
    assert "E009" not in said


def test_no_part_asked_redis_for_what_its_users_may_not(production: Stack) -> None:
    with production.live.client() as client:
        # A limit is counted, in the cache.
        assert client.get("/v2/token", auth=("nobody", "wrong")).status_code == 401
    for part, users in ((production.broker, {"larder", "signing"}), (production.cache, {"larder"})):
        with redis.Redis(port=part.port, **REDIS_ADMIN) as server:
            assert server.acl_log() == []
            # Web servers let go of the cache once they have counted.
            assert {one["user"] for one in server.client_list()} - {"admin"} <= users
            assert server.dbsize() > 0
        with redis.Redis(port=part.port) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()


def test_the_signing_worker_has_its_own_password_and_keys_of_the_broker(production: Stack) -> None:
    url = production.environment("signing-worker-0")["LARDER_BROKER_URL"]
    with redis.Redis.from_url(url) as signing:
        signing.llen("sign")
        for attempt in (lambda: signing.lpush("check", "{}"), lambda: signing.publish("a", "b"), signing.flushall):
            with pytest.raises(redis.exceptions.NoPermissionError):
                attempt()
    with redis.Redis(port=production.broker.port, **REDIS_ADMIN) as server:
        server.acl_log_reset()


def test_web_servers_believe_nginx_and_no_other_neighbour(production: Stack) -> None:
    forged = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
    with production.live.client() as client:
        client.get("/through-nginx", headers=forged)
    for port in production.webs.values():
        httpx.get(f"http://127.0.0.1:{port}/past-nginx", headers=forged | {"Host": production.live.host})

    lines = [
        json.loads(line)
        for path in production.folder.glob("web-*.log")
        for line in path.read_text().splitlines()
        if line[:1] == "{"
    ]
    seen = {(line["path"], line["client"]) for line in lines if line.get("path") in ("/through-nginx", "/past-nginx")}
    assert seen == {("/through-nginx", "127.0.0.1"), ("/past-nginx", "127.0.0.1")}


def test_metrics_are_for_prometheus_alone(production: Stack) -> None:
    """It asks web servers and workers by their own addresses, and sends a token."""
    with production.live.client() as client:
        assert client.get("/metrics").status_code == 404
    workers = {name: production.pages[name] for name in production.processes if "worker" in name}
    assert len(workers) == 5
    asked = {"Authorization": f"Bearer {METRICS_TOKEN}", "Host": "10.1.2.3:9464"}
    for port in (*production.webs.values(), *workers.values()):
        url = f"http://127.0.0.1:{port}/metrics"
        assert httpx.get(url).status_code == 404
        assert httpx.get(url, headers={"Authorization": "Bearer wrong"}).status_code == 404
        answer = httpx.get(url, headers=asked)
        assert (answer.status_code, "larder_build_info" in answer.text) == (200, True)

    for name, port in workers.items():
        assert httpx.get(f"http://127.0.0.1:{port}/", headers=asked).status_code == 404, name
        answer = httpx.get(f"http://127.0.0.1:{port}/metrics", headers=asked)
        # A worker reaches the database, and need not reach every other part: web servers tell of those.
        told = {"larder_part_up", "larder_jobs", "larder_workers", "larder_storage_free_bytes"}
        assert not told & {sample[0] for sample in samples_of(answer.text)}, name
        assert "# TYPE larder_signatures_total counter" in answer.text


def test_each_role_of_the_database_has_its_own_password(production: Stack) -> None:
    urls = {name: production.environment(f"{name}-0")["LARDER_DATABASE_URL"] for name in ("migrate", *WITH_WEB_ROLE)}
    signing = production.environment("signing-worker-0")["LARDER_DATABASE_URL"]

    roles = {name: urlsplit(url).username for name, url in urls.items()}
    assert roles == {"migrate": "larder", **dict.fromkeys(WITH_WEB_ROLE, "larder_web")}
    assert urlsplit(signing).username == "larder_signing"
    passwords = [urlsplit(url).password for url in (urls["migrate"], urls["web"], signing)]
    assert len(set(passwords)) == 3
    wrong = signing.replace(str(passwords[2]), str(passwords[1]))
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(wrong)
    with psycopg.connect(signing) as database:
        flags = "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls FROM pg_roles WHERE rolname = %s"
        for role in ("larder", "larder_web", "larder_signing"):
            assert database.execute(flags, [role]).fetchone() == (False,)
        # roles.sh writes them, because the owner may not.
        for name, value in OF_ROLE.items():
            assert database.execute(f"SHOW {name}").fetchone() == (value,)


def test_a_connection_of_each_role_changes_no_audit_row_and_that_of_web_servers_no_private_key(
    production: Stack,
) -> None:
    forbidden = ["UPDATE audit_auditevent SET actor_id = 1", "DELETE FROM audit_auditevent"]
    of_keys = ["UPDATE signing_privatekey SET kek_id = ''", "TABLE signing_privatekey"]
    for name, attempts in (("web", forbidden + of_keys), ("signing-worker", forbidden), ("migrate", forbidden)):
        with psycopg.connect(production.environment(f"{name}-0")["LARDER_DATABASE_URL"]) as database:
            database.execute("SELECT 1")
            for sql in attempts:
                with pytest.raises(psycopg.errors.InsufficientPrivilege), database.transaction():
                    database.execute(sql)


def test_no_process_and_no_command_of_operators_needs_more_than_its_role_may(production: Stack) -> None:
    """The commands have the role of web servers."""
    production.live.manage("audit", "verify")
    production.live.manage("verify")
    production.live.manage("end_sessions", "admin")

    for log in production.folder.glob("*.log"):
        assert "permission denied" not in log.read_text(), log.name
