"""Real clients: `tofu init` and `terraform init` of many dependencies, against nginx with the same bytes.

Both take turns over TLS with the same certificate. A value is how many inits fit into a second, so that the ratio is
that of the wall times; p50 is one of them, and the processor time is that of all Larder processes for one.
"""

import json
import shutil
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from bench import providers as packages
from bench import references, trees
from bench.larder import Bench, start
from bench.load import Server
from bench.report import Figure
from tests.builders.archives import module_zip
from tests.builders.keys import signing_key
from tests.builders.providers import dist, manifest, sums
from tests.e2e.providers import Depot
from tests.e2e.workspace import Workspace, access_lines, said
from tests.live import Live
from tests.postgres import free_port

PLATFORM = "linux_amd64"
VERSION = "1.0.0"
LARGE = 50 * 1024 * 1024
PUBLISHED_AT_ONCE = 4
# Connections go to processes by chance: try so often for the one that has answered nothing yet.
TRIES = 8
HANDSHAKES = 100
MODULE = {"main.tf": 'output "a" {\n  value = 1\n}\n'}
# By kind, for tofu and for terraform.
WANTED = {
    "repeated": (">= 0.60", ">= 0.75"),
    "first after a restart": (">= 0.45", ""),
    "private, by token": (">= 0.55", ""),
    "4 at once": (">= 0.60", ""),
}


@dataclass(frozen=True)
class Project:
    """The dependencies of a configuration: `namespace/name/system` and `namespace/type`."""

    modules: Sequence[str]
    providers: Sequence[str]

    def configuration(self, host: str) -> str:
        required = {address.replace("/", "-"): {"source": f"{host}/{address}"} for address in self.providers}
        called = {
            address.replace("/", "-"): {"source": f"{host}/{address}", "version": VERSION} for address in self.modules
        }
        return json.dumps({"terraform": {"required_providers": required}} | ({"module": called} if called else {}))

    def documents(self) -> Iterator[str]:
        yield "/.well-known/terraform.json"
        for address in self.modules:
            yield f"/v1/modules/{address}/versions"
            yield f"/v1/modules/{address}/{VERSION}/download"
        for address in self.providers:
            yield f"/v1/providers/{address}/versions"
            yield f"/v1/providers/{address}/{VERSION}/download/{PLATFORM.replace('_', '/')}"


@dataclass
class Copy:
    """Everything that a client fetches, as files and headers of nginx."""

    files: dict[str, bytes | Path] = field(default_factory=dict)
    headers: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass
class Runs:
    """Inits of one kind in turns."""

    larder: list[float] = field(default_factory=list)
    nginx: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def measure(bench: Bench) -> Iterator[Figure]:
    programs = [name for name in ("tofu", "terraform") if not references.missing(name)]
    if bench.lacks("init", "nginx") or bench.lacks("init", *([] if programs else ["tofu"])):
        return
    bench.close()
    folder = bench.folder / "init"
    modules, providers = (2, 2) if bench.is_tiny else (30, 40)
    projects = {
        name: Project(
            [f"{name}/m{number}/local" for number in range(modules)],
            [f"{name}/p{number}" for number in range(providers)],
        )
        for name in ("init", "init-private")
    }
    if not bench.is_tiny:
        projects["large"] = Project([], [f"large-{number}/bench" for number in range(5)])
    # The same port after each restart: its clients ask for the same addresses.
    began = partial(start, folder, tls=True, size=None, processes=bench.processes, port=free_port())
    with began() as live:
        _publish(live, projects, folder)
        token, copy = live.token("admin", "read"), Copy()
        for project in projects.values():
            _copy(live, token, project, copy)
        tls = live.data_dir / "tls"
    certificate = (tls / "server.pem", tls / "server.key")
    with references.nginx(bench.folder / "nginx-init", copy.files, certificate, copy.headers) as nginx:
        for number, program in enumerate(programs):
            clients = Clients(folder, program, nginx, token)
            yield from _figures(bench, clients, projects, began, is_terraform=program == "terraform" or number > 0)


def _figures(
    bench: Bench,
    clients: "Clients",
    projects: dict[str, Project],
    began: Callable[[], AbstractContextManager[Live]],
    *,
    is_terraform: bool,
) -> Iterator[Figure]:
    found: dict[str, Runs] = defaultdict(Runs)
    routes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for _ in range(bench.rounds):
        with began() as live:
            small, clients.web = projects["init"], _web_processes(live, bench.processes)
            since = said(live)
            served_by = clients.in_turn(found["first after a restart"], live, small)
            routes["first after a restart"] += access_lines(live, since)
            for _try in range(0 if bench.is_tiny else TRIES):
                before = Runs()
                if clients.in_turn(before, live, small) != served_by:
                    found["first on another process"].larder += before.larder
                    found["first on another process"].nginx += before.nginx
                    found["first on another process"].cpu += before.cpu
                    break
            since = said(live)
            clients.in_turn(found["repeated"], live, small)
            routes["repeated"] += access_lines(live, since)
            # The first one to each process is like that of anybody.
            for _try in range(0 if bench.is_tiny else TRIES // 2):
                clients.in_turn(Runs(), live, projects["init-private"], is_private=True)
            since = said(live)
            clients.in_turn(found["private, by token"], live, projects["init-private"], is_private=True)
            routes["private, by token"] += access_lines(live, since)
            for crowd in () if bench.is_tiny else (4, 8):
                clients.in_turn(found[f"{crowd} at once"], live, small, at_once=crowd)
            if "large" in projects:
                clients.in_turn(found["5 packages of 50 MiB"], live, projects["large"])
                clients.in_turn(found["5 packages of 50 MiB, repeated"], live, projects["large"])
    for kind, runs in found.items():
        wanted = WANTED.get(kind, ("", ""))[is_terraform]
        yield Figure(
            f"{clients.program} init, {kind}",
            [1 / seconds for seconds in runs.larder],
            "/s",
            [1 / seconds for seconds in runs.nginx],
            "nginx",
            wanted,
            p50=[1e3 * seconds for seconds in runs.larder],
            cpu=runs.cpu,
        )
    for kind, lines in routes.items():
        yield from _routes(f"{clients.program} init, {kind}", lines, bench.rounds)


def _routes(what: str, lines: list[dict[str, Any]], rounds: int) -> Iterator[Figure]:
    """From the access lines."""
    found: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        found[f"{line['method']} {line['route']}"].append(line["ms"])
    for route, took in sorted(found.items(), key=lambda item: -sum(item[1])):
        work = f"{what}, {route}: {len(took) // rounds} requests, {sum(took) / rounds:.0f} ms together"
        yield Figure(work, [statistics.median(took)], "ms", note={"milliseconds": took})


class Clients:
    """Runs of one client, each in a folder of its own without anything from before."""

    def __init__(self, folder: Path, program: str, nginx: Server, token: str) -> None:
        self.program = program
        self._folder, self._nginx, self._token = folder, nginx, token
        self._number = count()
        self.web: Sequence[int] = ()  # processes

    def in_turn(self, runs: Runs, live: Live, project: Project, *, at_once: int = 1, is_private: bool = False) -> int:
        """At Larder, then at nginx; returns the web process that worked most."""
        before = _processor_time(live)
        runs.larder.append(self._run(live, live.host, project, at_once, is_private=is_private))
        used = {pid: seconds - before.get(pid, 0) for pid, seconds in _processor_time(live).items()}
        runs.cpu.append(1e3 * sum(used.values()) / at_once)
        runs.nginx.append(self._run(live, urlsplit(self._nginx.url).netloc, project, at_once, is_private=is_private))
        return max(self.web, key=lambda pid: used[pid])

    def _run(self, live: Live, host: str, project: Project, at_once: int, *, is_private: bool) -> float:
        spaces = []
        for _ in range(at_once):
            space = Workspace(self._folder / f"work-{next(self._number)}", self.program, live, host)
            (space.work / "main.tf.json").write_text(project.configuration(host))
            if is_private:
                space.credentials(self._token)
            spaces.append(space)
        with ThreadPoolExecutor(at_once) as pool:
            begun = time.monotonic()
            ended = list(pool.map(Workspace.init, spaces))
            took = time.monotonic() - begun
        for done, space in zip(ended, spaces, strict=True):
            if done.returncode:
                raise RuntimeError(f"{self.program} init at {host}: {done.stdout[-1000:]}{done.stderr[-3000:]}")
            shutil.rmtree(space.folder)
        return took


def _web_processes(live: Live, number: int) -> Sequence[int]:
    """Those that handshakes keep busy: all processes of Larder are forks of one and bear its name."""
    before = _processor_time(live)
    for _ in range(HANDSHAKES):
        with live.client() as client:
            client.get("/healthz").raise_for_status()
    used = {pid: seconds - before.get(pid, 0) for pid, seconds in _processor_time(live).items()}
    return sorted(used, key=lambda pid: -used[pid])[:number]


def _processor_time(live: Live) -> dict[int, float]:
    return {pid: trees.cpu_seconds_of(pid) for pid in trees.descendants(live.process.pid)}


def _publish(live: Live, projects: dict[str, Project], folder: Path) -> None:
    depot = Depot(live, live.token(), "", signing_key("ed25519"))
    spaces = {address.split("/")[0] for project in projects.values() for address in project.providers}
    with live.client(depot.token) as client:
        for space in sorted(spaces):
            shown = {"visibility": "private" if space.endswith("private") else "public"}
            client.put(f"/api/v1/namespaces/{space}", json=shown).raise_for_status()
            depot.register(space)
    large = projects.get("large", Project([], [])).providers
    package = packages.make(folder, [PLATFORM], LARGE)[0].read_bytes() if large else b""
    work: list[Callable[[], object]] = []
    for project in projects.values():
        for address in project.modules:
            data = module_zip(MODULE, comment=address.encode())
            work.append(partial(live.publish, address, VERSION, data, depot.token))
        work += [
            partial(_publish_provider, depot, address, package if address in large else b"")
            for address in project.providers
        ]
    with ThreadPoolExecutor(PUBLISHED_AT_ONCE) as pool:
        for done in [pool.submit(one) for one in work]:
            done.result()


def _publish_provider(depot: Depot, address: str, package: bytes) -> None:
    name = address.split("/")[1]
    files = dist(name, VERSION, [PLATFORM])
    stem = f"terraform-provider-{name}_{VERSION}"
    if package:
        # A comment makes it bytes that storage does not know.
        comment = address.encode()
        large = package[:-2] + len(comment).to_bytes(2, "little") + comment
        files = {f"{stem}_{PLATFORM}.zip": large, f"{stem}_manifest.json": manifest("5.0")}
        files[f"{stem}_SHA256SUMS"] = sums(files)
    files[f"{stem}_SHA256SUMS.sig"] = depot.publisher.sign(files[f"{stem}_SHA256SUMS"])
    depot.send(address, VERSION, files)


def _copy(live: Live, token: str, project: Project, copy: Copy) -> None:
    # By another name than the public one, so that the links are relative and lead to the copy.
    with live.client(token) as client:
        for path in project.documents():
            answer = client.get(path, headers={"Host": "localhost"}).raise_for_status()
            copy.files[path] = answer.content
            if location := answer.headers.get("X-Terraform-Get"):
                copy.headers[path] = ("X-Terraform-Get", location)
            for link in _links(answer):
                digest = next(part for part in link.split("/") if len(part) == 64)
                copy.files[link] = live.data_dir / "blobs" / "sha256" / digest[:2] / digest


def _links(answer: httpx.Response) -> Iterator[str]:
    document = answer.json()
    for name in ("location", "download_url", "shasums_url", "shasums_signature_url"):
        if link := document.get(name):
            yield urlsplit(link).path
