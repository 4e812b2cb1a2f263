"""A worker killed before and after every step, as the pipelines name them: the release ends by itself."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from tests import stack
from tests.builders.archives import module_zip
from tests.chaos.world import check_invariants
from tests.flows.crashing import ASLEEP, DEATHS, MODULES, PROVIDERS, check_signature, hand_in, make_key, send
from tests.live import Live, start_live, wait_until_ready
from tests.site.processes import eventually

pytestmark = [pytest.mark.live, pytest.mark.nightly, pytest.mark.timeout(600)]
LEASE = 5  # seconds
# The demo module is 1.0.0: the faults wait for versions of their own.
WEB_POINTS = {"after:reserve": "rejected", "after:receive": "rejected", "after:accept": "published"}
WEB_VERSIONS = {point: f"7.0.{number}" for number, point in enumerate(WEB_POINTS)}


@pytest.fixture(scope="module")
def waiting(deadly, tmp_path_factory) -> Iterator[dict[str, Future]]:
    """Scenes that mostly wait, side by side, each with a Larder of its own; they begin with the first test.

    It asks for `deadly` so that one worker has all tests of this file: another would begin the scenes a second time.
    """
    begun: dict[str, Future] = {}
    with ExitStack() as larders, ThreadPoolExecutor() as beside:
        for scene, variables in SCENES.items():
            larder = larders.enter_context(
                start_live(tmp_path_factory.mktemp(scene.__name__), why="it dies, beside others that do", **variables)
            )
            token = larder.token()
            with larder.client(token) as client:
                client.put("/api/v1/namespaces/acme", json={"visibility": "private"}).raise_for_status()
            begun[scene.__name__] = beside.submit(scene, larder, token)
        yield begun


def every_day(larder: Live, token: str) -> tuple[dict, float]:
    started = time.monotonic()
    return larder.publish("acme/vpc/aws", "7.0.0", module_zip(), token), time.monotonic() - started


def web_killed(larder: Live, token: str) -> dict[str, tuple[dict, dict]]:
    """By point: how the release ended whose receiver was killed there, and how it ended when it was sent again."""
    paths = {point: f"/api/v1/modules/acme/vpc/aws/{version}" for point, version in WEB_VERSIONS.items()}
    for path in paths.values():
        wait_until_ready(larder)
        with larder.client(token) as client, pytest.raises(httpx.TransportError):
            client.put(path, content=module_zip())
    wait_until_ready(larder)
    with larder.client(token) as client:
        at_once = client.put(paths["after:reserve"], content=module_zip())
        assert (at_once.status_code, 0 < int(at_once.headers["Retry-After"]) <= 60) == (503, True), at_once.text
        ended = {point: larder.wait_for(client, path) for point, path in paths.items()}
    return {
        point: (ended[point], larder.publish("acme/vpc/aws", version, module_zip(), token))
        for point, version in WEB_VERSIONS.items()
    }


def broker_away(larder: Live, token: str) -> list[dict]:
    messages = larder.data_dir / "queue" / "messages"
    with larder.client(token) as client:
        away = messages.rename(messages.with_name("away"))
        messages.write_text("not a folder: every ring fails")
        sent = [send(client, f"1.0.{number}") for number in range(3)]
        time.sleep(2.5 * LEASE)  # each is rung for again and again
        messages.unlink()
        away.rename(messages)
        return [larder.wait_for(client, release) for release in sent]


SCENES: dict[Callable[[Live, str], Any], dict[str, str]] = {
    web_killed: {
        "LARDER_CRASH_AT": ",".join(f"{point}@{version}" for point, version in WEB_VERSIONS.items()),
        "LARDER_JOB_LEASE_SECONDS": str(LEASE),
    },
    **({} if stack.IS_FULL else {broker_away: {"LARDER_JOB_LEASE_SECONDS": str(LEASE)}}),
    every_day: {"LARDER_CRASH_AT": "before:store_archive@7.0.0"},
}


@pytest.mark.usefixtures("waiting")  # they wait while it works
def test_killed_at_every_point_a_release_is_published_once_and_nothing_is_left(deadly, tmp_path):
    with deadly.client(deadly.token()) as client:
        make_key(client, "acme", "ed25519")
        releases = [send(client, version) for version in MODULES]
        releases += [hand_in(client, "acme", version, "darwin_arm64") for version in PROVIDERS]
        for release in releases:
            document = deadly.wait_for(client, release)
            assert document["state"] == "published", document
            assert document["attempt"] >= 1
        for version in PROVIDERS:
            check_signature(client, "acme", version, tmp_path)
        modules = client.get("/v1/modules/acme/vpc/aws/versions").json()["modules"][0]["versions"]
        providers = client.get("/v1/providers/acme/dns/versions").json()["versions"]
    assert (len(modules), len(providers)) == (len(MODULES), len(PROVIDERS))
    killed = {path.name for path in deadly.data_dir.glob("crashed-*")}
    assert killed == {f"crashed-{death.replace(':', '-')}" for death in DEATHS}, "every point killed its worker"
    eventually(lambda: not deadly.staged(), seconds=60)
    check_invariants(deadly, "acme")


def test_a_worker_that_slept_through_its_lease_loses_at_the_fence(deadly):
    """Another takes over; the sleeping one still believes that the release is its own."""

    def logged(event: str) -> list[dict]:
        lines = [line for line in deadly.output.read_text().splitlines() if line.startswith("{") and event in line]
        return [json.loads(line) for line in lines]

    with deadly.client(deadly.token()) as client:
        client.put("/api/v1/namespaces/acme", json={"visibility": "public"}).raise_for_status()
        release = send(client, ASLEEP)
        eventually(lambda: logged('"stop:before'))
        # The clock sleeps as well if it is in that process: this rings as another host's would.
        ring = "from registry_site.celery import app; app.send_task('jobs.reap')"
        eventually(lambda: deadly.manage("shell", "-v", "0", "-c", ring) or client.get(release).json()["published_at"])
        ended = client.get(release).json()
        lost = len(logged('"lease_lost"'))
        os.kill(logged('"stop:before')[0]["pid"], signal.SIGCONT)
        eventually(lambda: len(logged('"lease_lost"')) > lost)
        after = client.get(release).json()
    assert ended["state"] == "published"
    assert {**after, "attempt": 0} == {**ended, "attempt": 0}, "the sleeper changed nothing"
    check_invariants(deadly, "acme")


def test_with_the_settings_of_every_day_it_ends_within_90_seconds(waiting):
    document, seconds = waiting["every_day"].result()
    assert document["state"] == "published"
    assert document["attempt"] == 2
    assert seconds < 90


@pytest.mark.parametrize(("point", "ends"), WEB_POINTS.items())
def test_a_web_process_killed_while_it_receives_leaves_no_stuck_version(waiting, point, ends):
    document, again = waiting["web_killed"].result()[point]
    assert document["state"] == ends
    assert again["state"] == "published"


@pytest.mark.embedded("puts a file in the way of the broker's folder")
def test_a_broker_that_is_away_costs_no_upload(waiting):
    assert [document["state"] for document in waiting["broker_away"].result()] == ["published"] * 3
