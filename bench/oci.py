"""Pushes and pulls of blobs and manifests, with the same client against Debian's docker-registry in the same run.

Both on plain HTTP and a folder of this machine. wrk knows no HEAD, so a loop over a socket asks for manifests.
"""

import hashlib
import http.client
import json
import random
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from bench import references, trees
from bench.larder import Bench
from bench.report import Figure
from bench.uploads import make

LARGE = 1024 * 1024 * 1024
STEP = 1024 * 1024
SMALL_BLOBS, CLIENTS = 1000, 8
SMALL = 1024
REQUESTS = 1000
NAME = "bench-oci/image/test"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
LENGTH = re.compile(rb"(?i)\ncontent-length: *(\d+)")


@dataclass(frozen=True)
class Registry:
    url: str
    pid: int
    token: str = ""


def connected(registry: Registry) -> socket.socket:
    where = urlsplit(registry.url)
    plain = socket.create_connection((where.hostname or "", where.port or 80), timeout=300)
    if where.scheme == "http":
        return plain
    return ssl._create_unverified_context().wrap_socket(plain)  # noqa: S323, SLF001  # its own CA, on this machine


class Client:
    """One connection that is kept."""

    def __init__(self, registry: Registry, name: str = NAME) -> None:
        where = urlsplit(registry.url)
        self.name = name
        self.connection = http.client.HTTPConnection(where.hostname or "", where.port, blocksize=STEP, timeout=300)
        self.connection.sock = connected(registry)
        self.headers = {"Authorization": f"Bearer {registry.token}"} if registry.token else {}

    def ask(
        self, method: str, path: str, body: object = None, *, status: int, **headers: str
    ) -> http.client.HTTPResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(method, path, body=body, headers=self.headers | named)  # type: ignore[arg-type]
        response = self.connection.getresponse()
        if response.status != status:
            raise RuntimeError(f"{method} {path}: {response.status} {response.read(500)!r}")
        return response

    def push(self, digest: str, body: object, size: int) -> None:
        """POST, then PUT: what every client does, and both know."""
        begun = self.ask("POST", f"/v2/{self.name}/blobs/uploads/", status=202, Content_Length="0")
        begun.read()
        where = urlsplit(begun.headers["Location"])
        query = f"{where.query}&" if where.query else ""
        path = f"{where.path}?{query}digest={digest}"
        kind = "application/octet-stream"
        self.ask("PUT", path, body, status=201, Content_Length=str(size), Content_Type=kind).read()

    def pull(self, digest: str) -> int:
        response = self.ask("GET", f"/v2/{self.name}/blobs/{digest}", status=200)
        buffer, size = bytearray(STEP), 0
        while read := response.readinto(buffer):
            size += read
        return size


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def seconds(work: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - started


def push_large(registry: Registry, path: Path, digest: str) -> None:
    with path.open("rb") as source:
        Client(registry).push(digest, source, path.stat().st_size)


def pull_large(registry: Registry, path: Path, digest: str) -> None:
    assert Client(registry).pull(digest) == path.stat().st_size


def push_small(registry: Registry, seed: int, count: int) -> None:
    noise = random.Random(seed)
    blobs = [noise.randbytes(SMALL) for _ in range(count)]

    def one_client(number: int) -> None:
        client = Client(registry)
        for blob in blobs[number::CLIENTS]:
            client.push(digest_of(blob), blob, len(blob))

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(one_client, range(CLIENTS)))


def push_manifest(registry: Registry) -> None:
    client, parts = Client(registry), (b"{}", b"a layer")
    for data in parts:
        client.push(digest_of(data), data, len(data))
    path = f"/v2/{NAME}/manifests/edge"
    client.ask("PUT", path, manifest_of(*parts), status=201, Content_Type=MANIFEST).read()


def manifest_of(config: bytes, layer: bytes, **annotations: str) -> bytes:
    types = ("application/vnd.oci.image.config.v1+json", "application/octet-stream")
    parts = [
        {"mediaType": kind, "digest": digest_of(data), "size": len(data)}
        for data, kind in zip((config, layer), types, strict=True)
    ]
    document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": parts[0], "layers": parts[1:]}
    return json.dumps(document | {"annotations": annotations}).encode()


def ask_for_manifest(registry: Registry, method: str, count: int) -> None:
    """On one connection, by sockets alone: an HTTP client would cost more than the answer."""
    where = urlsplit(registry.url)
    token = f"Authorization: Bearer {registry.token}\r\n" if registry.token else ""
    host = f"Host: {where.netloc}\r\nAccept: {MANIFEST}\r\n"
    request = f"{method} /v2/{NAME}/manifests/edge HTTP/1.1\r\n{host}{token}\r\n".encode()
    with connected(registry) as connection:
        for _ in range(count):
            connection.sendall(request)
            head, _, body = connection.recv(65536).partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"{method} of the manifest: {head[:500]!r}")
            length = int(LENGTH.search(head)[1]) if method == "GET" else 0  # type: ignore[index]
            while len(body) < length:
                body += connection.recv(65536)


def measure(bench: Bench) -> Iterator[Figure]:
    if bench.lacks("oci", "docker-registry"):
        return
    live = bench.larder(is_seeded=False, tls=False)
    token = bench.token(live)
    with live.client(token) as client:
        client.put("/api/v1/namespaces/bench-oci", json={"visibility": "private"}).raise_for_status()
    ours = Registry(live.url, live.process.pid, token)
    with references.docker_registry(bench.folder / "docker-registry") as server:
        theirs = Registry(server.url, server.pid)
        # Against a Larder that has just started. In separate rounds: sampling takes processor time from everybody.
        path, growth, before = bench.folder / "blob", [], trees.pss(ours.pid)
        for number in range(bench.rounds):
            digest = make(path, _size(bench), f"memory {number}")
            with trees.Peak(ours.pid) as peak:
                push_large(ours, path, digest)
                pull_large(ours, path, digest)
            growth.append(peak.peak - before)
        yield Figure("push and pull of 1 GiB, growth of all processes", growth, "MB", wanted="< 48")
        yield from _manifests(bench, ours, theirs)
        count = 16 if bench.is_tiny else SMALL_BLOBS
        taken = _in_turns(bench, ours, theirs, lambda registry, number: push_small(registry, number, count))
        yield _compared(f"push of {count:,} blobs of 1 kB, {CLIENTS} clients", taken, count, "/s", ">= 0.8")
        yield from _large(bench, ours, theirs)


def _manifests(bench: Bench, ours: Registry, theirs: Registry) -> Iterator[Figure]:
    push_manifest(ours)
    push_manifest(theirs)
    count = 20 if bench.is_tiny else REQUESTS
    for method in ("GET", "HEAD"):
        taken = _in_turns(bench, ours, theirs, partial(_ask_often, method, count))
        yield _compared(f"{method} of a manifest by tag, 1 connection", taken, count, "/s", ">= 3")


def _ask_often(method: str, count: int, registry: Registry, _number: int) -> None:
    ask_for_manifest(registry, method, count)


def _large(bench: Bench, ours: Registry, theirs: Registry) -> Iterator[Figure]:
    path = bench.folder / "blob"
    digests: dict[int, str] = {}

    def push(registry: Registry, number: int) -> None:
        push_large(registry, path, digests[number])

    pushes: list[list[float]] = [[], []]
    pulls: list[list[float]] = [[], []]
    again: list[list[float]] = [[], []]
    for number in range(bench.rounds):
        digests[number] = make(path, _size(bench), f"round {number}")
        for place, registry in enumerate((ours, theirs)):
            pushes[place].append(seconds(push, registry, number))
            pulls[place].append(seconds(pull_large, registry, path, digests[number]))
            # By now any process has hashed it, wherever the connection ends.
            for _ in range(bench.processes * 2):
                pull_large(registry, path, digests[number])
            again[place].append(seconds(pull_large, registry, path, digests[number]))
    megabytes = _size(bench) / 1e6
    yield _compared("push of 1 GiB", pushes, megabytes, "MB/s", ">= 1.2")
    yield _compared("first pull of 1 GiB", pulls, megabytes, "MB/s", "")
    yield _compared("pull of 1 GiB", again, megabytes, "MB/s", ">= 0.5")


def _size(bench: Bench) -> int:
    return STEP if bench.is_tiny else LARGE


def _in_turns(
    bench: Bench, ours: Registry, theirs: Registry, work: Callable[[Registry, int], None]
) -> list[list[float]]:
    """Seconds of both, round by round, after one round that warms up."""
    taken: list[list[float]] = [[], []]
    for number in range(-1, bench.rounds):
        for times, registry in zip(taken, (ours, theirs), strict=True):
            took = seconds(work, registry, number)
            times.extend([took] if number >= 0 else [])
    return taken


def _compared(work: str, taken: list[list[float]], amount: float, unit: str, wanted: str) -> Figure:
    """Compare the times as rates, so that more is better on both sides."""
    ours, theirs = ([amount / took for took in times] for times in taken)
    return Figure(work, ours, unit, theirs, "docker-registry", wanted)
