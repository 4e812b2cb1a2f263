"""The stack under load: who publishes what, what was acknowledged, and what must be true of it afterwards."""

import hashlib
import json
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path

import httpx

from bench.trees import rss_of
from tests.builders.archives import module_zip
from tests.builders.providers import dist
from tests.chaos import report
from tests.chaos.faulty_storage import Proxy
from tests.e2e.workspace import Workspace
from tests.flows.crashing import hand_in, make_key
from tests.live import Live
from tests.production import Stack, is_ready, running
from tests.programs import is_there
from tests.signing.conftest import agents_in, homes_of
from tests.site.processes import eventually

IS_LONG = float(os.environ.get("CHAOS_SECONDS", "0")) >= 60
PUBLISHERS = 3
READERS = 4
PAUSE_SECONDS = 0.4
LEASE_SECONDS = 5
# The bar of the issue: from the last fault until everything has ended.
RECOVERY_SECONDS = 180
STATE = """
import json
from apps.jobs.models import WORKING as AT_WORK, Job
from apps.releases.models import WORKING, Release, State
print(json.dumps({
    "working": Release.objects.filter(state__in=WORKING).exclude(state=State.RECEIVING).count(),
    "jobs": Job.objects.filter(state__in=AT_WORK).count(),
}))
"""
INVARIANTS = """
import json
from tests.chaos import invariants
print(json.dumps([invariants.problems({namespaces}, after={after}), invariants.newest()]))
"""

SWEPT = """
import json
from tests.chaos import invariants
print(json.dumps(invariants.left_after_sweep()))
"""


def check_invariants(larder: Live, *namespaces: str, after: int = 0) -> int:
    """Nothing is half there, lost or unrecorded; answers the number of the newest release, for the next `after`."""
    code = INVARIANTS.format(namespaces=namespaces, after=after)
    found, newest = json.loads(larder.manage("shell", "--no-imports", "-v", "0", "-c", code))
    assert found == [], found
    return int(newest)


@dataclass
class World:
    stack: Stack
    storage: Proxy
    token: str
    acknowledged: dict[str, str] = field(default_factory=dict)  # the digest of what was sent, by the release's URL
    answers: Counter[int] = field(default_factory=Counter)
    numbers: Iterator[int] = field(default_factory=count)
    over: float = 0.0  # when the last fault was, for the time that recovery takes
    checked: int = 0  # the newest release whose bytes were read again
    newest: dict[str, str] = field(default_factory=dict)  # the version, by module or provider
    to_install: list[str] = field(default_factory=list)  # a version of the module from each case

    def client(self, number: int = 0) -> httpx.Client:
        """Of one web server, without nginx, which would hide whose answer it is."""
        port = list(self.stack.webs.values())[number % len(self.stack.webs)]
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=40)

    @contextmanager
    def load(self) -> Iterator[None]:
        """Publishers, until the block ends. What they were told is in `answers` and `acknowledged`."""
        over = threading.Event()
        self.answers.clear()
        threads = [threading.Thread(target=self._publish, args=(number, over)) for number in range(PUBLISHERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.over = time.monotonic()
            over.set()
            for thread in threads:
                thread.join()
            report.answered(self.answers)

    def _publish(self, number: int, over: threading.Event) -> None:
        while not over.is_set():
            version = f"1.0.{next(self.numbers)}"
            try:
                with self.client(number) as client:
                    if number:
                        self._send_module(client, version)
                    else:
                        self._send_provider(client, version)
            except httpx.HTTPStatusError as refused:
                self.answers[refused.response.status_code] += 1
            except httpx.TransportError:
                self.answers[0] += 1
            time.sleep(PAUSE_SECONDS)

    def _send_provider(self, client: httpx.Client, version: str) -> None:
        files = dist("dns", version, ("linux_amd64",), protocols=())
        [package] = (data for name, data in files.items() if name.endswith(".zip"))
        url = hand_in(client, "chaos", version)
        self.answers[202] += 1
        self.acknowledged[url] = hashlib.sha256(package).hexdigest()

    def _send_module(self, client: httpx.Client, version: str) -> None:
        data = module_zip(comment=version.encode())
        answer = client.put(f"/api/v1/modules/chaos/vpc/aws/{version}", content=data)
        self.answers[answer.status_code] += 1
        if answer.is_success:
            self.acknowledged[f"/api/v1/releases/{answer.json()['id']}"] = hashlib.sha256(data).hexdigest()

    def mix(self, seconds: float) -> Counter[int]:
        """Return what readers and publishers are answered who work beside each other for so long, by status."""
        self.answers.clear()
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self._mix, args=(number, until)) for number in range(READERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.over = time.monotonic()
        report.answered(self.answers)
        return Counter(self.answers)

    def _mix(self, number: int, until: float) -> None:
        with self.client(number) as client:
            known = client.get("/v1/modules/chaos/vpc/aws/versions").json()["modules"][0]["versions"]
            for turn in count(number):
                match turn % 100:
                    case 0:
                        self._send_module(client, f"1.0.{next(self.numbers)}")
                    case part if part % 10 == 1:
                        version = known[turn % len(known)]["version"]
                        answer = client.get(f"/v1/modules/chaos/vpc/aws/{version}/download")
                        place = answer.json()["location"].partition("?")[0]
                        self.answers[client.get(place, follow_redirects=True).status_code] += 1
                    case _:
                        self.answers[client.get("/v1/modules/chaos/vpc/aws/versions").status_code] += 1
                if time.monotonic() > until and turn > 100:  # everybody published once
                    return

    def memory(self) -> dict[int, float]:
        """RSS of each process in MB: it grows by what is new, not by what a fork ceases to share with its siblings."""
        return {pid: rss_of(pid) for pid in self.stack.tree()}

    def grown(self, before: dict[int, float]) -> dict[int, float]:
        """By how much since then, which the report has in all. No process may have been replaced."""
        now = self.memory()
        assert before.keys() <= now.keys(), "no process had to be replaced"
        grown = {pid: round(now[pid] - memory, 1) for pid, memory in before.items()}
        report.measured(memory=round(sum(grown.values()), 1), most=f"in one process {max(grown.values()):+.1f} MB")
        return grown

    def wait_until_idle(self, seconds: float = RECOVERY_SECONDS) -> dict[str, int]:
        """The state once every release and every job has ended."""
        deadline = time.monotonic() + seconds
        eventually(lambda: is_ready(self.stack.live), seconds=RECOVERY_SECONDS, what="readiness")
        while (state := self._state())["working"] or state["jobs"]:
            assert time.monotonic() < deadline, (state, self.stack.logs())
            time.sleep(0.5)
        return state

    def settle(self) -> None:
        """Wait until everything has ended, and measure once for each fault how long that took."""
        self.wait_until_idle()
        if self.over:
            report.measured(recovery=round(time.monotonic() - self.over, 1))
        self.over = 0.0

    def check(self) -> None:
        """Points (i) to (vi) of the list: of what was acknowledged as clients see it, of the rest as Larder does."""
        assert self.acknowledged, self.answers
        self.settle()
        self.checked = check_invariants(self.stack.live, after=self.checked)
        with self.client(0) as one, self.client(1) as other:
            for client, (url, sent) in zip(cycle((one, other)), self.acknowledged.items(), strict=False):
                self._download(client, client.get(url).json(), sent)
        self.acknowledged.clear()
        self.to_install.append(self.newest["module"])
        eventually(lambda: not self._homes(), seconds=RECOVERY_SECONDS, what="the end of every home of keys")
        if IS_LONG:
            self.install()

    def check_the_end(self) -> None:
        """Check the state after every fault together: a real client installs, and the next day's sweep leaves
        nothing.
        """
        self.install()
        if IS_LONG:
            check_invariants(self.stack.live)
        left = json.loads(self.stack.live.manage("shell", "--no-imports", "-v", "0", "-c", SWEPT))
        assert left == [], left

    def install(self) -> None:
        """A module of each case since the last time, and the newest provider, which the client verifies by its key."""
        if not is_there("terraform"):
            report.measured(client="not on the PATH")
            return
        folder = Path(tempfile.mkdtemp(dir=self.stack.folder))
        modules, provider = (Workspace(folder / name, "terraform", self.stack.live) for name in ("get", "init"))
        for version in self.to_install:
            modules.module(f"v{version.replace('.', '-')}", "chaos/vpc/aws", version)
        self.to_install.clear()
        wanted = f'dns = {{ source = "{provider.host}/chaos/dns", version = "{self.newest["provider"]}" }}'
        (provider.work / "main.tf").write_text(f"terraform {{\n  required_providers {{\n    {wanted}\n  }}\n}}\n")
        for ran in (modules.run("get"), provider.init()):
            assert ran.returncode == 0, ran.stdout + ran.stderr

    def _download(self, client: httpx.Client, document: dict[str, str], sent: str) -> None:
        assert document["state"] == "published", document
        version = document["version"]
        if document["kind"] == "module":
            assert document["digest"].removeprefix("sha256:") == sent
            place = client.get(f"/v1/modules/chaos/vpc/aws/{version}/download").json()["location"].partition("?")[0]
        else:
            found = client.get(f"/v1/providers/chaos/dns/{version}/download/linux/amd64").json()
            assert found["shasum"] == sent
            place = found["download_url"]
        archive = client.get(place, follow_redirects=True)
        assert hashlib.sha256(archive.content).hexdigest() == sent
        self.newest[document["kind"]] = version

    def _homes(self) -> list[object]:
        """Homes of gpg, and agents, of each process that ever ran here."""
        processes = self.stack.ended | {process.pid for process in self.stack.processes.values()}
        return [one for pid in processes for one in (*homes_of(pid), *agents_in(f"larder-gpg-{pid}-"))]

    def _state(self) -> dict[str, int]:
        found: dict[str, int] = json.loads(self.stack.live.manage("shell", "--no-imports", "-v", "0", "-c", STATE))
        return found


@contextmanager
def under_load(folder: Path, **variables: str) -> Iterator[World]:
    """A stack that works, with a proxy before its storage; at the end, what is left of all faults is checked."""
    proxies = []

    def before(port: int) -> int:
        proxies.append(Proxy(port))
        return proxies[0].port

    usual = {"LARDER_JOB_LEASE_SECONDS": str(LEASE_SECONDS), "LARDER_WEB_PROCESSES": "2"}
    with running(folder, storage=before, **usual, **variables) as stack:
        token = stack.live.token()
        with stack.live.client(token) as client:
            make_key(client, "chaos", "ed25519")
        found = World(stack, proxies[0], token)
        with found.load():
            time.sleep(1)
        found.check()
        yield found
        found.check_the_end()
