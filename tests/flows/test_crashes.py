"""A worker killed before and after every step, as the pipeline itself names them: the release ends by itself."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from apps.modules.publishing import STEPS
from apps.releases.publishing.pipeline import points
from tests.builders.archives import module_zip
from tests.live import Live, start_live, wait_until_ready

pytestmark = pytest.mark.live

POINTS = points(STEPS)
# A short lease keeps the test short. One release at a time: a kill hits at its point, and nobody else half-way.
SHORT = {"LARDER_JOB_LEASE_SECONDS": "5", "LARDER_WORKER_CONCURRENCY": "1", "LARDER_JOB_ATTEMPTS": "60"}
# The demo module is 1.0.0: the faults wait for versions of their own.


def namespace(larder: Live) -> str:
    token = larder.token()
    with larder.client(token) as client:
        client.put("/api/v1/namespaces/acme", json={"visibility": "private"}).raise_for_status()
    return token


def send(client: httpx.Client, version: str) -> str:
    answer = client.put(f"/api/v1/modules/acme/vpc/aws/{version}", content=module_zip(comment=version.encode()))
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def staged(larder: Live) -> list[Path]:
    return [path for path in (larder.data_dir / "blobs" / "staging").rglob("*") if path.is_file()]


@pytest.fixture(scope="module")
def waiting(tmp_path_factory) -> Iterator[dict[str, Future]]:
    """Scenes that mostly wait, side by side, each with a Larder of its own; they begin with the first test."""
    begun: dict[str, Future] = {}
    with ExitStack() as larders, ThreadPoolExecutor() as beside:
        for scene, variables in SCENES.items():
            larder = larders.enter_context(start_live(tmp_path_factory.mktemp(scene.__name__), **variables))
            begun[scene.__name__] = beside.submit(scene, larder)
        yield begun


def every_day(larder: Live) -> tuple[dict, float]:
    token = namespace(larder)
    started = time.monotonic()
    return larder.publish("acme/vpc/aws", "7.0.0", module_zip(), token), time.monotonic() - started


WEB_POINTS = {"after:reserve": "rejected", "after:receive": "rejected", "after:accept": "published"}
WEB_VERSIONS = {point: f"7.0.{number}" for number, point in enumerate(WEB_POINTS)}


def web_killed(larder: Live) -> dict[str, tuple[dict, dict]]:
    """By point: how the release ended whose receiver was killed there, and how it ended when it was sent again."""
    token = namespace(larder)
    paths = {point: f"/api/v1/modules/acme/vpc/aws/{version}" for point, version in WEB_VERSIONS.items()}
    for path in paths.values():
        wait_until_ready(larder)
        with larder.client(token) as client, pytest.raises(httpx.TransportError):
            client.put(path, content=module_zip())
    wait_until_ready(larder)
    with larder.client(token) as client:
        at_once = client.put(paths["after:reserve"], content=module_zip())
        assert (at_once.status_code, 0 < int(at_once.headers["Retry-After"]) <= 60) == (503, True), at_once.text
    ended = {point: wait_for_end(larder, token, path) for point, path in paths.items()}
    return {
        point: (ended[point], larder.publish("acme/vpc/aws", version, module_zip(), token))
        for point, version in WEB_VERSIONS.items()
    }


def broker_away(larder: Live) -> list[dict]:
    messages = larder.data_dir / "queue" / "messages"
    with larder.client(namespace(larder)) as client:
        away = messages.rename(messages.with_name("away"))
        messages.write_text("not a folder: every ring fails")
        sent = [send(client, f"1.0.{number}") for number in range(3)]
        time.sleep(20)  # four leases
        messages.unlink()
        away.rename(messages)
        return [larder.wait_for(client, f"/api/v1/releases/{release}") for release in sent]


SCENES = {
    web_killed: {
        "LARDER_CRASH_AT": ",".join(f"{point}@{version}" for point, version in WEB_VERSIONS.items()),
        "LARDER_JOB_LEASE_SECONDS": "5",
    },
    broker_away: {"LARDER_JOB_LEASE_SECONDS": "5"},
    every_day: {"LARDER_CRASH_AT": "before:store_archive@7.0.0"},
}


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("waiting")  # they wait while it works
def test_killed_at_every_point_the_release_is_published_once_and_nothing_is_left(tmp_path):
    versions = {f"7.0.{number}": point for number, point in enumerate(POINTS)}
    plan = ",".join(f"{point}@{version}" for version, point in versions.items())
    with start_live(tmp_path, LARDER_CRASH_AT=plan, **SHORT) as larder:
        with larder.client(namespace(larder)) as client, larder.more_workers(2):
            for release in [send(client, version) for version in versions]:
                document = larder.wait_for(client, f"/api/v1/releases/{release}")
                assert document["state"] == "published", document
                assert document["attempt"] >= 1
            listed = client.get("/v1/modules/acme/vpc/aws/versions").json()["modules"][0]["versions"]
        assert len(listed) == len(POINTS)
        killed = {path.name for path in larder.data_dir.glob("crashed-*")}
        assert len(killed) == len(POINTS), "every point was reached and killed its worker"
        deadline = time.monotonic() + 60
        while staged(larder) and time.monotonic() < deadline:
            time.sleep(0.5)
        assert staged(larder) == []


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("waiting")  # they wait while it works
def test_a_worker_that_slept_through_its_lease_loses_at_the_fence(tmp_path):
    with start_live(tmp_path, LARDER_CRASH_AT="stop:before:enter_ledger@7.0.0", LARDER_JOB_LEASE_SECONDS="5") as larder:
        token = namespace(larder)
        with larder.client(token) as client:
            document = client.put("/api/v1/modules/acme/vpc/aws/7.0.0", content=module_zip()).json()
            sleeper = wait_for_sleeper(larder)
            # A second worker takes over; the sleeping one still believes that the release is its own.
            other = larder.start_worker()
            try:
                ended = larder.wait_for(client, f"/api/v1/releases/{document['id']}")
                os.kill(sleeper, signal.SIGCONT)
                time.sleep(3)
                after = client.get(f"/api/v1/releases/{document['id']}").json()
            finally:
                other.terminate()
                other.wait(timeout=20)
    assert ended["state"] == "published"
    assert {**after, "attempt": 0} == {**ended, "attempt": 0}, "the sleeper changed nothing"


def wait_for_sleeper(larder: Live) -> int:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for line in larder.output.read_text().splitlines():
            if '"fault"' in line:
                return int(line.partition('"pid": ')[2].split(",")[0].rstrip("}"))
        time.sleep(0.2)
    raise AssertionError("no worker stopped")


@pytest.mark.timeout(300)
def test_with_the_settings_of_every_day_it_ends_within_90_seconds(waiting):
    document, seconds = waiting["every_day"].result()
    assert document["state"] == "published"
    assert document["attempt"] == 2
    assert seconds < 90


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("point", "ends"), WEB_POINTS.items())
def test_a_web_process_killed_while_it_receives_leaves_no_stuck_version(waiting, point, ends):
    document, again = waiting["web_killed"].result()[point]
    assert document["state"] == ends
    assert again["state"] == "published"


def wait_for_end(larder: Live, token: str, path: str) -> dict:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        try:
            with larder.client(token) as client:
                answer = client.get(path)
                if answer.status_code == 200 and answer.json()["state"] in ("published", "rejected"):
                    return answer.json()
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise AssertionError("still not ended after 90 s")


@pytest.mark.timeout(300)
def test_a_broker_that_is_away_costs_no_upload(waiting):
    assert [document["state"] for document in waiting["broker_away"].result()] == ["published"] * 3
