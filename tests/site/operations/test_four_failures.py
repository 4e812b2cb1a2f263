"""Broker, database, storage and signing worker fail in a whole Larder, each alone.

Each failure has its metric, its alert, its line of the doctor, its section in the run books, and the answer that people
and clients get, through nginx and through a load balancer that follows readiness.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.builders import alerting
from tests.builders.archives import module_zip
from tests.builders.balancer import balancing
from tests.chaos.faulty_storage import Proxy
from tests.flows.crashing import hand_in, make_key
from tests.live import CHECKOUT
from tests.production import NGINX, Stack, running
from tests.programs import PRODUCTION
from tests.site.monitoring.test_metrics import samples_of
from tests.site.processes import eventually

pytestmark = [pytest.mark.live, pytest.mark.nightly, pytest.mark.needs(*PRODUCTION, "promtool")]

TOKEN = "0123456789abcdef0123456789abcdef"
MODULE = "/v1/modules/acme/vpc/aws"
# A worker counts as silent after four rounds of beat.
SILENCE = 120


@dataclass
class World:
    stack: Stack
    storage: Proxy
    balancer: str
    token: str
    folder: Path

    def clients(self) -> Iterator[httpx.Client]:
        """Both ways to it: nginx, and the balancer that asks /readyz."""
        headers = {"Authorization": f"Bearer {self.token}"}
        with self.stack.live.client(self.token) as client:
            yield client
        with httpx.Client(base_url=self.balancer, headers=headers, timeout=30) as client:
            yield client

    def answers(self, path: str, **more: Any) -> list[httpx.Response]:
        return [client.get(path, **more) for client in self.clients()]

    def both_answer(self, status: int, path: str) -> bool:
        return {answer.status_code for answer in self.answers(path)} == {status}

    def metrics(self) -> dict[str, str]:
        """Scrape each web server like Prometheus."""
        asked = {"Authorization": f"Bearer {TOKEN}", "Host": self.stack.live.host}
        return {
            name: httpx.get(f"http://127.0.0.1:{port}/metrics", headers=asked, timeout=30).text
            for name, port in self.stack.webs.items()
        }

    def all_say(self, value: float, *sample: str) -> bool:
        return all(samples_of(text).get(sample) == value for text in self.metrics().values())

    def doctor(self) -> dict[str, tuple[str, str]]:
        """State and finding by part, on the host of a checking worker."""
        words = [sys.executable, "manage.py", "doctor", "--json"]
        environment = self.stack.live.environment
        done = subprocess.run(words, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
        found = json.loads(done.stdout)["findings"]
        # The environment is of a test: a part may have several findings, of which the worst counts.
        states = {one["part"]: (one["state"], one["found"]) for one in found if one["part"] != "configuration"}
        return states | {one["part"]: (one["state"], one["found"]) for one in found if one["state"] == "fail"}

    def check(self, *, part: str, alert: str, doctor: str, page: str) -> dict[str, tuple[str, str]]:
        """Check what is the same for each failure. `doctor`: the one part that it blames. Returns all that it
        found.
        """
        for answer in self.answers("/readyz"):
            assert (answer.status_code, answer.json()["status"]) == (200, "ok")
            assert [warning for warning in answer.json()["warnings"] if warning.startswith(f"{part}: ")]
        down = {"database", "storage"} & {part}
        for answer in self.answers("/status", headers={"Accept": "application/json"}):
            assert answer.status_code == (503 if down else 200)
            assert answer.json()["parts"][part] == "down"
        with self.stack.live.client() as stranger:
            shown = stranger.get("/status")
            assert shown.status_code == 200
            assert page in shown.text
            runbook = alerting.rules()[alert]["annotations"]["runbook_url"].partition("/help/")[2]
            path, _, anchor = runbook.partition("#")
            assert f'id="{anchor}"' in stranger.get(f"/help/{path}").raise_for_status().text
        alerting.check(self.metrics(), {alert}, url=self.stack.live.url, folder=self.folder)
        found = self.doctor()
        assert {name for name, (state, _) in found.items() if state == "fail"} - {"configuration"} == {doctor}, found
        return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    proxies: list[Proxy] = []

    def before(port: int) -> int:
        proxies.append(Proxy(port))
        return proxies[0].port

    folder = tmp_path_factory.mktemp("failures")
    (folder / "metrics_token").write_text(TOKEN)
    variables = {"LARDER_METRICS_TOKEN_FILE": str(folder / "metrics_token")}
    with running(folder, storage=before, **variables) as stack:
        token = stack.live.token()
        with stack.live.client(token) as client:
            make_key(client, "acme", "ed25519")
            client.put("/api/v1/namespaces/cellar", json={"visibility": "private"}).raise_for_status()
        stack.live.publish("cellar/vpc/aws", "1.0.0", module_zip(comment=b"of the cellar"), token)
        for version in ("1.0.0", "1.1.0"):
            stack.live.publish("acme/vpc/aws", version, module_zip(comment=version.encode()), token)
        with balancing(lambda: list(stack.webs.values()), host=stack.live.host, local_address=NGINX) as balancer:
            yield World(stack, proxies[0], balancer, token, folder)


@pytest.fixture(autouse=True)
def all_is_well(world: World) -> None:
    def is_well() -> bool:
        return all(answer.status_code == 200 and not answer.json()["warnings"] for answer in world.answers("/readyz"))

    eventually(is_well, 120, what="a Larder of which every part answers")


def place_of(world: World, version: str, module: str = MODULE) -> str:
    with world.stack.live.client(world.token) as client:
        answer = client.get(f"{module}/{version}/download").raise_for_status()
    return str(answer.json()["location"]).partition("?")[0]


def test_nothing_is_alerted_while_all_is_well(world: World) -> None:
    alerting.check(world.metrics(), set(), url=world.stack.live.url, folder=world.folder)

    found = world.doctor()
    assert {name for name, (state, _) in found.items() if state in ("fail", "skip")} == set(), found


def test_the_broker_fails(world: World) -> None:
    world.stack.broker.stop()
    try:
        eventually(lambda: world.all_say(0.0, "larder_part_up", "broker"), what="the metric")
        # By then the workers are silent as well, and nobody blames them.
        eventually(lambda: world.all_say(0.0, "larder_workers"), SILENCE, what="the silence of the workers")
        assert [answer.status_code for answer in world.answers(f"{MODULE}/versions")] == [200, 200]
        with world.stack.live.client(world.token) as client:
            url = "/api/v1/modules/acme/vpc/aws/2.0.0"
            answer = client.put(url, content=module_zip(comment=b"2.0.0"))
            assert answer.status_code == 202, answer.text

        page = "Publishing takes a few seconds longer."
        found = world.check(part="broker", alert="LarderBrokerDown", doctor="broker", page=page)
        assert found["worker and beat"][0] == "skip"
    finally:
        world.stack.broker.start()
    with world.stack.live.client(world.token) as client:
        assert world.stack.live.wait_for(client, url)["state"] == "published"


def test_the_database_fails(world: World) -> None:
    # A private archive by its link, which nobody has asked for yet; a public one that each process has served.
    private, public = place_of(world, "1.0.0", MODULE.replace("acme", "cellar")), place_of(world, "1.0.0")
    for port in world.stack.webs.values():
        headers = {"Host": world.stack.live.host}
        httpx.get(f"http://127.0.0.1:{port}{public}", headers=headers, timeout=30).raise_for_status()
    whole = {private: module_zip(comment=b"of the cellar"), public: module_zip(comment=b"1.0.0")}
    world.stack.database.stop_at_once()
    try:
        eventually(lambda: world.all_say(0.0, "larder_part_up", "database"), what="the metric")
        for path in (f"{MODULE}/versions", "/modules"):
            eventually(partial(world.both_answer, 503, path), what="503")
            for answer in world.answers(path):
                assert answer.headers["Retry-After"] == "2"
                assert "no healthy upstream" not in answer.text, "Larder says itself what is wrong"
        for place, data in whole.items():
            assert [one.content for one in world.answers(place, follow_redirects=True)] == [data, data]

        page = "Only files with a direct link can be downloaded."
        found = world.check(part="database", alert="LarderDatabaseDown", doctor="database", page=page)
        assert (found["gpg"][0], found["broker"][0], found["storage"][0]) == ("ok", "ok", "ok")
        assert (found["signing keys"][0], found["worker and beat"][0]) == ("skip", "skip")

        # A process that starts now does not know the tables: it alone is not ready, and the other one answers.
        world.stack.processes["web-0"].send_signal(signal.SIGTERM)
        world.stack.processes["web-0"].wait(timeout=60)
        world.stack.start("web-0")
        eventually(lambda: readiness_of(world, "web-0") == (503, "schema_unknown"), what="a start without a database")
        assert readiness_of(world, "web-1") == (200, "ok")
        assert world.answers(private, follow_redirects=True)[1].content == whole[private]
    finally:
        world.stack.database.start_again()
    eventually(lambda: readiness_of(world, "web-0") == (200, "ok"), what="a look at the tables")


def readiness_of(world: World, web: str) -> tuple[int, str]:
    try:
        answer = httpx.get(f"http://127.0.0.1:{world.stack.webs[web]}/readyz", timeout=30)
    except httpx.TransportError:
        return 0, ""
    return answer.status_code, answer.json()["status"]


def test_the_storage_fails(world: World) -> None:
    place = place_of(world, "1.1.0")
    world.storage.fault = "503"
    try:
        eventually(lambda: world.all_say(0.0, "larder_part_up", "storage"), what="the metric")
        for path in (f"{MODULE}/versions", "/modules", "/modules/acme/vpc/aws", f"{MODULE}/1.1.0/download"):
            assert [answer.status_code for answer in world.answers(path)] == [200, 200], path
        for answer in world.answers(place):
            assert answer.status_code == 503, "what was never read is only in storage"
            assert "no healthy upstream" not in answer.text
        with world.stack.live.client(world.token) as client:
            answer = client.put("/api/v1/modules/acme/vpc/aws/3.0.0", content=module_zip(comment=b"3.0.0"))
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")

        page = "Files cannot be downloaded or published."
        found = world.check(part="storage", alert="LarderStorageDown", doctor="storage", page=page)
        assert (found["database"][0], found["worker and beat"][0]) == ("ok", "ok")
    finally:
        world.storage.fault = ""


def test_the_signing_worker_fails(world: World) -> None:
    world.stack.processes["signing-worker-0"].send_signal(signal.SIGTERM)
    world.stack.processes["signing-worker-0"].wait(timeout=60)
    try:
        with world.stack.live.client(world.token) as client:
            url = hand_in(client, "acme", "1.0.0")
            eventually(lambda: world.all_say(0.0, "larder_queue_workers", "sign"), SILENCE, what="the metric")
            assert client.get(url).json()["state"] == "signing"
            module = world.stack.live.publish("acme/vpc/aws", "4.0.0", module_zip(comment=b"4.0.0"), world.token)
            assert module["state"] == "published"

        page = "Uploads are accepted and wait for a worker."
        found = world.check(part="worker", alert="LarderNoSigningWorker", doctor="worker and beat", page=page)
        assert found["worker and beat"][1].startswith("the last worker that signs reported ")
    finally:
        world.stack.start("signing-worker-0")
    with world.stack.live.client(world.token) as client:
        assert world.stack.live.wait_for(client, url)["state"] == "published"
