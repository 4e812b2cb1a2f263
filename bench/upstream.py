"""Providers of another registry, which is nginx with files: what verifying and storing them costs on the way.

A first fetch is measured against a direct download with `sha256sum` and `unzip -t`, later ones against a package of our
own with as many bytes, `init` against `init` from the mirror of our own namespace, and reads against reads without a
registry that hangs. Values of memory are what all processes together gain at most while clients wait for one package.
The first `init` of many unknown providers is in cold.py.
"""

import hashlib
import json
import statistics
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import httpx

from bench import cold, providers, references, trees
from bench.larder import Bench
from bench.publishing import latencies, p99
from bench.report import Figure
from tests.builders import faults, misbehaving
from tests.builders.archives import module_zip
from tests.builders.keys import TestKey, signing_key
from tests.builders.providers import dist, manifest, sums
from tests.e2e.providers import Depot, configure
from tests.e2e.workspace import Workspace
from tests.live import Live, start_live

HOST, HANGING = "registry.bench.example", "hanging.bench.example"
OWN = "127.0.0.1"  # under which the mirror has our own
PLATFORM = "linux_amd64"
LARGE, SHARED = 100 * 1024 * 1024, 24 * 1024 * 1024
CLIENTS = 100
WAITING = 40  # requests for what hangs
SECONDS = 10.0
LATER = 5  # fetches in a round


def measure(bench: Bench) -> Iterator[Figure]:
    if bench.lacks("upstream", "nginx", "curl", "unzip", "sha256sum"):
        return
    bench.close()
    folder = bench.folder / "upstream"
    folder.mkdir()
    registry = Registry(signing_key("ed25519"))
    size = 1024 * 1024 if bench.is_tiny else LARGE
    package = providers.make(folder, [PLATFORM], size)[0]
    rounds = bench.rounds + 1  # the first one warms up
    for number in range(rounds):
        registry.add("bench", f"1.0.{number}", {f"{PLATFORM}.zip": _other_bytes(package, number)})
    shared = providers.make(_made(folder / "shared"), [PLATFORM], size if bench.is_tiny else SHARED)[0]
    for number in range(bench.rounds):
        registry.add("bench", f"2.0.{number}", {f"{PLATFORM}.zip": _other_bytes(shared, number)})
    many = [f"p{number}" for number in range(2 if bench.is_tiny else 40)]
    for name in many:
        registry.add(name, "1.0.0", {f"{PLATFORM}.zip": dist(name, "1.0.0", [PLATFORM])[_file(name, "1.0.0")]})
    with references.nginx(folder / "nginx", registry.files()) as nginx, _larder(bench, folder) as live:
        depot = Depot(live, live.token(), "", signing_key("ed25519"))
        _mirror(live, depot.token, HOST, nginx.url)
        _publish(depot, many, {"1.0.0": package, "2.0.0": shared})
        yield from _fetches(live, nginx.url, folder, rounds)
        yield from _memory(bench, live)
        yield from _inits(bench, live, folder, many)
        yield from _beside_hanging(bench, live, depot)
    yield from cold.measure(bench, _made(folder / "cold"))


@contextmanager
def _larder(bench: Bench, folder: Path) -> Iterator[Live]:
    variables = {"LARDER_UPSTREAM_ALLOW": "127.0.0.0/8", "LARDER_RATE_FETCH": "off", "LARDER_RATE_PUBLISH": "off"}
    with start_live(folder / "larder", why="measured", LARDER_WEB_PROCESSES=str(bench.processes), **variables) as live:
        yield live


def _mirror(live: Live, token: str, host: str, url: str) -> None:
    with live.client(token) as client:
        body = {"enabled": True, "cooldown_days": 0, "url": url}
        client.put(f"/api/v1/upstreams/{host}", json=body).raise_for_status()


class Registry:
    """The documents of the provider registry protocol, as files."""

    def __init__(self, key: TestKey) -> None:
        self._key = key
        self._files: dict[str, bytes | Path] = {
            "/.well-known/terraform.json": _json({"providers.v1": "/v1/providers/"})
        }
        self._versions: dict[str, list[str]] = {}

    def add(self, name: str, version: str, zips: dict[str, bytes]) -> None:
        self._versions.setdefault(name, []).append(version)
        stem = f"terraform-provider-{name}_{version}"
        named = {f"{stem}_{platform}": data for platform, data in zips.items()}
        base, listed = f"/packages/{name}/{version}", sums(named)
        self._files[f"{base}/{stem}_SHA256SUMS"] = listed
        self._files[f"{base}/{stem}_SHA256SUMS.sig"] = self._key.sign(listed)
        for file_name, data in named.items():
            self._files[f"{base}/{file_name}"] = data
            os, _, arch = file_name.removeprefix(f"{stem}_").removesuffix(".zip").partition("_")
            self._files[f"/v1/providers/bench/{name}/{version}/download/{os}/{arch}"] = _json(
                {
                    "protocols": ["5.0"],
                    "os": os,
                    "arch": arch,
                    "filename": file_name,
                    "download_url": f"{base}/{file_name}",
                    "shasums_url": f"{base}/{stem}_SHA256SUMS",
                    "shasums_signature_url": f"{base}/{stem}_SHA256SUMS.sig",
                    "shasum": hashlib.sha256(data).hexdigest(),
                    "signing_keys": {"gpg_public_keys": [{"key_id": self._key.key_id, "ascii_armor": self._key.armor}]},
                }
            )

    def files(self) -> dict[str, bytes | Path]:
        os, _, arch = PLATFORM.partition("_")
        lists: dict[str, bytes | Path] = {}
        for name, numbers in self._versions.items():
            entries = [
                {"version": number, "protocols": ["5.0"], "platforms": [{"os": os, "arch": arch}]} for number in numbers
            ]
            lists[f"/v1/providers/bench/{name}/versions"] = _json({"versions": entries})
        return self._files | lists


def _publish(depot: Depot, many: Sequence[str], large: Mapping[str, Path]) -> None:
    """The same under our own names: many small ones, and the large ones by version."""
    with depot.larder.client(depot.token) as client:
        client.put("/api/v1/namespaces/bench", json={"visibility": "public"}).raise_for_status()
    depot.register("bench")
    for name in many:
        depot.publish(f"bench/{name}", "1.0.0", signed=True, platforms=[PLATFORM])
    for version, package in large.items():
        stem = f"terraform-provider-bench_{version}"
        files = {_file("bench", version): _other_bytes(package, 255), f"{stem}_manifest.json": manifest("5.0")}
        files[f"{stem}_SHA256SUMS"] = sums(files)
        files[f"{stem}_SHA256SUMS.sig"] = depot.publisher.sign(files[f"{stem}_SHA256SUMS"])
        depot.send("bench/bench", version, files)
    depot.larder.publish("bench/own/local", "1.0.0", module_zip(), depot.token)


# --- Fetches --------------------------------------------------------------------------------------------------------


def _fetches(live: Live, registry: str, folder: Path, rounds: int) -> Iterator[Figure]:
    first: list[float] = []
    direct: list[float] = []
    later: list[float] = []
    own: list[float] = []
    with live.client() as anybody:
        archives = anybody.get(f"/v1/mirror/{OWN}/bench/bench/1.0.0.json").json()["archives"]
        ours = live.url + archives[PLATFORM]["url"]
        for number in range(rounds):
            version = f"1.0.{number}"
            anybody.get(f"/v1/mirror/{HOST}/bench/bench/{version}.json").raise_for_status()
            theirs = f"{registry}/packages/bench/{version}/{_file('bench', version)}"
            mirrored = f"{live.url}/v1/mirror/{HOST}/bench/bench/{version}/{_file('bench', version)}"
            direct.append(_checked(theirs, folder))
            first.append(_download(mirrored, folder, live.ca_bundle))
            for _ in range(2):  # each process hashes it once
                for url in (mirrored, ours):
                    _download(url, folder, live.ca_bundle)
            later.append(statistics.median(_download(mirrored, folder, live.ca_bundle) for _ in range(LATER)))
            own.append(statistics.median(_download(ours, folder, live.ca_bundle) for _ in range(LATER)))
    yield Figure(
        "first fetch of 100 MB through Larder",
        first[1:],
        "s",
        direct[1:],
        "directly, with sha256sum and unzip -t",
        "<= 1.5",
    )
    yield Figure("a later fetch of it", later[1:], "s", own[1:], "one of our own", "<= 1.1")


def _checked(url: str, folder: Path) -> float:
    began = time.perf_counter()
    _download(url, folder)
    subprocess.run(["sha256sum", folder / "got.zip"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["unzip", "-tqq", folder / "got.zip"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _download(url: str, folder: Path, authority: Path | None = None) -> float:
    began = time.perf_counter()
    trust = ["--cacert", str(authority)] if authority else []
    subprocess.run(["curl", "-sSf", *trust, "-o", folder / "got.zip", url], check=True)
    return time.perf_counter() - began


def _memory(bench: Bench, live: Live) -> Iterator[Figure]:
    """Measure the memory that the first of many clients causes, and all wait for; beside as many clients of a package
    of our own.
    """
    gained: list[float] = []
    own: list[float] = []
    crowd = 5 if bench.is_tiny else CLIENTS
    with live.client() as anybody:
        archives = anybody.get(f"/v1/mirror/{OWN}/bench/bench/2.0.0.json").json()["archives"]
        ours = live.url + archives[PLATFORM]["url"]
        _gain(live, ours, crowd)  # threads and connections that stay
        for number in range(bench.rounds):
            version = f"2.0.{number}"
            url = f"{live.url}/v1/mirror/{HOST}/bench/bench/{version}/{_file('bench', version)}"
            own.append(_gain(live, ours, crowd))
            anybody.get(f"/v1/mirror/{HOST}/bench/bench/{version}.json").raise_for_status()
            gained.append(_gain(live, url, crowd))
    yield Figure(f"memory for {CLIENTS} clients of a new package", gained, "MB", own, "one of our own", "< 32 MB")


def _gain(live: Live, url: str, crowd: int) -> float:
    """The clients speak HTTP/2, as Go's do, in which no server sends files by itself."""
    command = ["curl", "-sSf", "--cacert", str(live.ca_bundle), "-o", "/dev/null", url]
    before = trees.pss(live.process.pid)
    with trees.Peak(live.process.pid) as tree:
        clients = [subprocess.Popen(command) for _ in range(crowd)]
        ended = [client.wait() for client in clients]
        if any(ended):
            raise RuntimeError(f"curl {url} failed")
    return tree.peak - before


# --- Clients --------------------------------------------------------------------------------------------------------


def _inits(bench: Bench, live: Live, folder: Path, many: Sequence[str]) -> Iterator[Figure]:
    number = count()
    for program in ("tofu", "terraform"):
        if references.missing(program):
            bench.skipped.append(f"upstream: {program} not on the PATH")
            continue
        taken: dict[str, list[float]] = {HOST: [], OWN: []}
        for run in range(1 + 3 * bench.rounds):
            for host, times in taken.items():
                space = Workspace(folder / f"work-{next(number)}", program, live)
                for _ in range(5 if run == 0 else 1):  # a cold one may take longer than the client waits
                    began = time.perf_counter()
                    done = _init(space, host, many)
                    times.append(time.perf_counter() - began)
                    if not done.returncode:
                        break
                else:
                    raise RuntimeError(f"{program} init: {done.stdout[-1000:]}{done.stderr[-3000:]}")
        warm = {host: times[-3 * bench.rounds :] for host, times in taken.items()}
        work = f"{program} init with {len(many)} mirrored providers, warm"
        yield Figure(work, warm[HOST], "s", warm[OWN], "our own by the mirror", "<= 1.1")


def _init(space: Workspace, host: str, many: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    block = f'  network_mirror {{\n    url = "{space.larder.url}/v1/mirror/"\n  }}\n'
    configure(space, f"provider_installation {{\n{block}}}\n")
    needed = {name: {"source": f"{host}/bench/{name}"} for name in many}
    (space.work / "main.tf.json").write_text(json.dumps({"terraform": {"required_providers": needed}}))
    return space.init()


def _beside_hanging(bench: Bench, live: Live, depot: Depot) -> Iterator[Figure]:
    """Reads that are ready and reads that go to Django, while as many wait for a registry that never answers."""
    numbers = count()
    versions = "/v1/modules/bench/own/local/versions"
    reads = {"ready": lambda: versions, "by Django": lambda: f"{versions}?n={next(numbers)}"}
    seconds = 0.5 if bench.is_tiny else SECONDS
    taken: dict[tuple[str, bool], list[list[float]]] = {}
    with misbehaving.running() as registry:
        registry.misbehave("*", faults.hangs())
        _mirror(live, depot.token, HANGING, registry.url)
        for number in range(bench.rounds):
            for kind, path in reads.items():
                taken.setdefault((kind, False), []).append(latencies(live, depot.token, path, seconds))
            with _waiting(live, number, seconds=len(reads) * (seconds + 1)):
                for kind, path in reads.items():
                    taken.setdefault((kind, True), []).append(latencies(live, depot.token, path, seconds))
    for kind in reads:
        beside, alone = taken[kind, True], taken[kind, False]
        work = f"p99 of reads, {kind}, beside a registry that hangs"
        middle = [statistics.median(one) for one in beside]
        yield Figure(work, [*map(p99, beside)], "ms", [*map(p99, alone)], "without it", "< 2", middle)


@contextmanager
def _waiting(live: Live, number: int, *, seconds: float) -> Iterator[None]:
    """Clients that ask for what hangs, and ask again when they are told to."""
    until = time.monotonic() + seconds

    def ask(client: httpx.Client, which: int) -> None:
        for again in count():
            if time.monotonic() > until:
                return
            answer = client.get(f"/v1/mirror/{HANGING}/bench/h{number}-{which}-{again}/index.json")
            time.sleep(max(0.0, min(float(answer.headers.get("Retry-After", 1)), until - time.monotonic())))

    with live.client(limits=httpx.Limits(max_connections=WAITING)) as client, ThreadPoolExecutor(WAITING) as pool:
        asked = [pool.submit(ask, client, which) for which in range(WAITING)]
        time.sleep(0.5)
        yield
        for one in asked:
            one.result()


def _file(name: str, version: str) -> str:
    return f"terraform-provider-{name}_{version}_{PLATFORM}.zip"


def _other_bytes(package: Path, number: int) -> bytes:
    """The zip with a comment, which makes it bytes that storage does not know."""
    data = package.read_bytes()
    assert data[-providers.END_WITHOUT_COMMENT :].startswith(b"PK\5\6")
    comment = f"number {number}".encode()
    return data[:-2] + struct.pack("<H", len(comment)) + comment


def _json(document: object) -> bytes:
    return json.dumps(document).encode()


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
