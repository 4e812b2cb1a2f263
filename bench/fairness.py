"""The waiting times of people while an import runs: 2,000 tags of a repository, pipelines that report what they use, or
a sync of 500 packages of another registry.

Each round measures a person's uploads, and a tag that a webhook announces, in the import and after it was disconnected,
so that the machine is as busy with other things for both. Nothing here waits for the import itself.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Event

import httpx

from bench.larder import Bench
from bench.report import Figure
from tests import postgres
from tests.builders import misbehaving
from tests.builders.archives import module_zip
from tests.builders.git_servers import Site, git_site
from tests.live import Live, start_live

TAGS, UPLOADS, REPORTERS = 2_000, 10, 2
HOST, PROVIDERS, VERSIONS = "sync.bench.example", 50, 10
LONGEST = 300.0  # seconds of one wait
MODULE = {"main.tf": 'variable "name" {\n  type = string\n}\n', "README.md": "# A module\n"}
USED = {"Modules": [{"Key": "m", "Source": "{}/person/first/local", "Version": "1.0.0", "Dir": "."}]}


def measure(bench: Bench) -> Iterator[Figure]:
    bench.close()  # another Larder would take processor time
    yield from _on("SQLite", bench)
    if bench.is_tiny:
        return
    if postgres.programs() is None:
        bench.skipped.append("fairness on PostgreSQL: there is no server program (Debian: apt-get install postgresql)")
    else:
        yield from _on("PostgreSQL", bench, LARDER_DATABASE_URL=postgres.start())


def _on(database: str, bench: Bench, **variables: str) -> Iterator[Figure]:
    folder = bench.folder / f"fairness-{database}"
    local = "127.0.0.0/8,::1"
    allowed = {"LARDER_SOURCES_ALLOW": local, "LARDER_UPSTREAM_ALLOW": local}
    allowed |= {"LARDER_TLS": "off", "LARDER_RATE_PUBLISH": "off"}
    with (
        git_site(folder / "git", https=False) as site,
        start_live(folder, why="measured", **allowed, **variables) as live,
        live.client(token := live.token()) as client,
    ):
        for figure in _Measured(bench, live, client, site, token).figures():
            yield replace(figure, work=f"{figure.work}, {database}")


class _Measured:
    def __init__(self, bench: Bench, live: Live, client: httpx.Client, site: Site, token: str) -> None:
        self.live, self.client, self.site, self.token = live, client, site, token
        self.is_tiny = bench.is_tiny
        self.tags, self.uploads = (12, 2) if bench.is_tiny else (TAGS, UPLOADS)
        self.rounds = 1 if bench.is_tiny else bench.rounds
        self.number = 0
        for name in ("person", "pushed", "import"):
            client.put(f"/api/v1/namespaces/{name}", json={"visibility": "private"}).raise_for_status()
        self.publish("first")

    def figures(self) -> Iterator[Figure]:
        busy, quiet, pushed, quietly_pushed, newest = [], [], [], [], []
        hook = self.connect("pushed", 0)
        self.push(hook)  # its first listing
        for _ in range(self.rounds):
            repository = self.connect("import", self.tags)
            newest.append(self.newest(repository))
            busy += [self.upload() for _ in range(self.uploads)]
            pushed.append(self.push(hook))
            self.client.delete(f"/api/v1/namespaces/import/repositories/{repository['id']}").raise_for_status()
            self.drained()
            quiet += [self.upload() for _ in range(self.uploads)]
            quietly_pushed.append(self.push(hook))
        during = f"while {self.tags:,} tags are imported"
        yield _against(f"a person's small module is published {during}", busy, quiet)
        yield Figure(f"a tag that a webhook announces {during}", pushed, "s", quietly_pushed, "quiet", "15 s")
        yield Figure("the newest version of an import", newest, "s", wanted="10 s")
        busy, quiet, reports = [], [], 0
        for _ in range(self.rounds):
            with self.reporting() as sent:
                busy += [self.upload() for _ in range(self.uploads)]
            reports += sum(sent)
            quiet += [self.upload() for _ in range(self.uploads)]
        yield _against(f"the same while pipelines have sent {reports:,} usage reports", busy, quiet)
        busy, quiet = [], []
        packages = (2 if self.is_tiny else PROVIDERS) * (2 if self.is_tiny else VERSIONS)
        for number in range(self.rounds):
            with self.syncing(f"s{number}", packages):
                busy += [self.upload() for _ in range(self.uploads)]
            quiet += [self.upload() for _ in range(self.uploads)]
        yield _against(f"the same while a sync fetches {packages:,} packages", busy, quiet)

    def publish(self, name: str) -> None:
        path = f"/api/v1/modules/person/{name}/local/1.0.0"
        answer = self.client.put(path, content=module_zip(comment=name.encode())).raise_for_status()
        ended = self.live.wait_for(self.client, f"/api/v1/releases/{answer.json()['id']}", LONGEST)
        if ended["state"] != "published":
            raise RuntimeError(f"{name} is {ended['state']}")

    def upload(self) -> float:
        self.number += 1
        return _seconds(lambda: self.publish(f"m{self.number}"))

    def connect(self, namespace: str, tags: int) -> dict[str, object]:
        """A repository of its own with so many versions, whose first listing has been asked for."""
        self.number += 1
        name = f"{namespace}/r{self.number}"
        repository = self.site.repository(name)
        repository.commit(MODULE)
        with repository.batch() as batch:
            for number in range(tags):
                batch.tag(f"v1.{number}.0", repository.head)
        given = {
            "url": self.site.url_of(name),
            "rules": [{"tag": "v{version}", "folder": "", "module": f"r{self.number}/local"}],
        }
        made = self.client.post(f"/api/v1/namespaces/{namespace}/repositories", json=given).raise_for_status().json()
        self.client.post(f"{_path(made)}/sync", json={}).raise_for_status()
        return {**made, "name": name, "module": f"{namespace}/r{self.number}/local"}

    def newest(self, repository: dict[str, object]) -> float:
        return _seconds(lambda: self.appears(str(repository["module"]), f"1.{self.tags - 1}.0"))

    def push(self, hook: dict[str, object]) -> float:
        self.number += 1
        self.site.repository(str(hook["name"])).tag(f"v1.{self.number}.0")
        secret = hook["webhook"]["secret"]  # type: ignore[index]  # of the API's answer
        url = httpx.URL(hook["webhook"]["url"]).path  # type: ignore[index]  # likewise
        self.client.post(url, headers={"Authorization": f"Bearer {secret}"}).raise_for_status()
        return _seconds(lambda: self.appears(str(hook["module"]), f"1.{self.number}.0"))

    def appears(self, module: str, version: str) -> None:
        """Wait until clients see it."""

        def is_listed() -> bool:
            answer = self.client.get(f"/v1/modules/{module}/versions")
            listed = answer.json()["modules"][0]["versions"] if answer.status_code == httpx.codes.OK else []
            return version in {one["version"] for one in listed}

        self.waits(is_listed, f"{module} {version}")

    def drained(self) -> None:
        """Wait for the end of the queue of a repository that is disconnected."""
        self.ended("source LIKE 'git %'")

    def ended(self, which: str) -> None:
        working = f"SELECT COUNT(*) FROM jobs_job WHERE {which} AND finished_at IS NULL"  # noqa: S608  # ours
        self.waits(lambda: not self.live.query(working), f"the end of the jobs where {which}")

    def waits(self, is_so: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + LONGEST
        while not is_so():
            if time.monotonic() > end:
                raise RuntimeError(f"{what} did not come within {LONGEST:.0f} s")
            time.sleep(0.2)

    @contextmanager
    def syncing(self, namespace: str, packages: int) -> Iterator[None]:
        """Have workers fetch so many packages, of which some at least are fetched before the block."""
        with misbehaving.running() as registry:
            versions = [f"1.0.{number}" for number in range(min(packages, VERSIONS))]
            for number in range(packages // len(versions)):
                registry.add_provider(namespace, f"p{number}", versions=versions)
            body = {"enabled": True, "cooldown_days": 0, "url": registry.url}
            self.client.put(f"/api/v1/upstreams/{HOST}", json=body).raise_for_status()
            wanted = [f"{HOST}/{namespace}/p{number}@>=1.0" for number in range(packages // len(versions))]
            self.live.manage("upstream", "sync", "--every", "1", *wanted)
            fetched = "SELECT COUNT(*) FROM upstream_upstreampackage WHERE blob_id IS NOT NULL"
            before = self.live.query(fetched)
            self.waits(lambda: self.live.query(fetched) > before, "the first package")
            yield
            self.client.put(f"/api/v1/upstreams/{HOST}", json={"enabled": False}).raise_for_status()
            self.ended("kind = 'sync-upstream'")

    @contextmanager
    def reporting(self) -> Iterator[list[int]]:
        """Report from a few pipelines until the block ends; the list has how often afterwards."""
        is_over, sent = Event(), list[int]()

        def report(pipeline: int) -> int:
            count = 0
            with self.live.client(self.token) as client:
                while not is_over.is_set():
                    used = [one | {"Source": one["Source"].format(self.live.host)} for one in USED["Modules"]]
                    given = {"repository": f"r{pipeline}", "folder": f"f{count % 400}", "modules": {"Modules": used}}
                    client.post("/api/v1/usage", json=given).raise_for_status()
                    count += 1
            return count

        with ThreadPoolExecutor(REPORTERS) as pool:
            asked = [pool.submit(report, number) for number in range(REPORTERS)]
            try:
                yield sent
            finally:
                is_over.set()
                sent += [one.result() for one in asked]


def _against(work: str, busy: list[float], quiet: list[float]) -> Figure:
    return Figure(f"p95: {work}", [_p95(busy)], "s", [_p95(quiet)], "quiet", "<= 2", [1000 * statistics.median(busy)])


def _p95(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=20, method="inclusive")[18]


def _path(repository: dict[str, object]) -> str:
    return f"/api/v1/namespaces/{repository['namespace']}/repositories/{repository['id']}"


def _seconds(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began
