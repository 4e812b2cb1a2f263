"""The stack under load: who publishes what, what was acknowledged, and what must be true of it afterwards."""

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import httpx

from tests.builders.archives import module_zip
from tests.chaos.faulty_storage import Proxy
from tests.flows.crashing import hand_in
from tests.production import Stack, is_ready
from tests.site.processes import eventually

PUBLISHERS = 3
READERS = 4
PAUSE_SECONDS = 0.4
# The bar of the issue: from the last fault until everything has ended.
RECOVERY_SECONDS = 180
STATE = """
import json
from collections import Counter
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.jobs.models import WORKING as AT_WORK, Job
from apps.releases.models import WORKING, Release, State
from apps.blobs import store
from apps.releases.publishing import ledger
published = Release.objects.filter(state=State.PUBLISHED).select_related("namespace")
print(json.dumps({
    "working": Release.objects.filter(state__in=WORKING).exclude(state=State.RECEIVING).count(),
    "jobs": Job.objects.filter(state__in=AT_WORK).count(),
    "published": published.count(),
    "recorded": AuditEvent.objects.filter(kind=Kind.RELEASE_PUBLISHED).count(),
    "unlike_ledger": [
        str(one)
        for one in published.order_by("-pk")[:50]
        if json.loads(store.get(ledger.key_of(one)) or "{}").get("digest") != one.digest
    ],
}))
"""


@dataclass
class World:
    stack: Stack
    storage: Proxy
    token: str
    acknowledged: dict[str, str] = field(default_factory=dict)  # the digest of what was sent, by the release's URL
    answers: Counter[int] = field(default_factory=Counter)
    numbers: Iterator[int] = field(default_factory=count)

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
            over.set()
            for thread in threads:
                thread.join()

    def _publish(self, number: int, over: threading.Event) -> None:
        while not over.is_set():
            version = f"1.0.{next(self.numbers)}"
            try:
                with self.client(number) as client:
                    if number:
                        self._send_module(client, version)
                    else:
                        self.acknowledged[hand_in(client, "chaos", version)] = ""
            except httpx.HTTPStatusError as refused:
                self.answers[refused.response.status_code] += 1
            except httpx.TransportError:
                self.answers[0] += 1
            time.sleep(PAUSE_SECONDS)

    def _send_module(self, client: httpx.Client, version: str) -> None:
        data = module_zip(comment=version.encode())
        answer = client.put(f"/api/v1/modules/chaos/vpc/aws/{version}", content=data)
        self.answers[answer.status_code] += 1
        if answer.is_success:
            self.acknowledged[f"/api/v1/releases/{answer.json()['id']}"] = hashlib.sha256(data).hexdigest()

    def mix(self, seconds: float) -> Counter[int]:
        """What readers and publishers are answered who work beside each other for so long, by status."""
        self.answers.clear()
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self._mix, args=(number, until)) for number in range(READERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
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

    def wait_until_idle(self, seconds: float = RECOVERY_SECONDS) -> dict[str, int]:
        """The state once every release and every job has ended."""
        deadline = time.monotonic() + seconds
        eventually(lambda: is_ready(self.stack.live), seconds=RECOVERY_SECONDS, what="readiness")
        while (state := self._state())["working"] or state["jobs"]:
            assert time.monotonic() < deadline, (state, self.stack.logs())
            time.sleep(0.5)
        return state

    def check(self) -> None:
        """Nothing that was acknowledged is lost, nothing is half there, and no two digests stand for one version."""
        assert self.acknowledged, self.answers
        state = self.wait_until_idle()
        assert state["published"] == state["recorded"]
        assert not state["unlike_ledger"]
        with self.client() as client:
            for url, sent in self.acknowledged.items():
                document = client.get(url).json()
                assert document["state"] == "published", document
                if sent:
                    self._download(client, document, sent)
        self.acknowledged.clear()

    def _download(self, client: httpx.Client, document: dict[str, str], sent: str) -> None:
        assert document["digest"].removeprefix("sha256:") == sent
        version = document["version"]
        answer = client.get(f"/v1/modules/chaos/vpc/aws/{version}/download").json()
        archive = client.get(answer["location"].partition("?")[0], follow_redirects=True)
        assert hashlib.sha256(archive.content).hexdigest() == sent

    def _state(self) -> dict[str, int]:
        found: dict[str, int] = json.loads(self.stack.live.manage("shell", "--no-imports", "-v", "0", "-c", STATE))
        return found
