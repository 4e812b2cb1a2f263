"""Pushes and pulls of blobs and manifests, with the same client against Debian's docker-registry in the same run.

Both on plain HTTP and a folder of this machine. Needs `docker-registry` (apt-get install docker-registry) on the PATH.
"""

import hashlib
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bench import figures, trees
from tests.live import start_live
from tests.postgres import free_port

LARGE = 1024 * 1024 * 1024
STEP = 1024 * 1024
SMALL_BLOBS, CLIENTS = 1000, 8
SMALL = 1024
REQUESTS = 200
ROUNDS = 3
NAME = "bench/image/test"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = """version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}}}, delete: {{enabled: true}}}}
http: {{addr: 127.0.0.1:{port}}}
"""


@dataclass(frozen=True)
class Registry:
    url: str
    pid: int
    token: str = ""


class Client:
    """One connection that is kept."""

    def __init__(self, registry: Registry) -> None:
        where = urlsplit(registry.url)
        self.connection = http.client.HTTPConnection(where.hostname or "", where.port, blocksize=STEP, timeout=300)
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
        begun = self.ask("POST", f"/v2/{NAME}/blobs/uploads/", status=202, Content_Length="0")
        begun.read()
        where = urlsplit(begun.headers["Location"])
        query = f"{where.query}&" if where.query else ""
        path = f"{where.path}?{query}digest={digest}"
        kind = "application/octet-stream"
        self.ask("PUT", path, body, status=201, Content_Length=str(size), Content_Type=kind).read()

    def pull(self, digest: str) -> int:
        response = self.ask("GET", f"/v2/{NAME}/blobs/{digest}", status=200)
        buffer, size = bytearray(STEP), 0
        while read := response.readinto(buffer):
            size += read
        return size


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@contextmanager
def docker_registry(folder: Path) -> Iterator[Registry]:
    port = free_port()
    folder.mkdir()
    (folder / "config.yml").write_text(CONFIG.format(folder=folder / "blobs", port=port))
    with (folder / "output.txt").open("wb") as sink:
        process = subprocess.Popen(
            ["docker-registry", "serve", folder / "config.yml"], stdout=sink, stderr=subprocess.STDOUT
        )
    registry = Registry(f"http://127.0.0.1:{port}", process.pid)
    try:
        _wait_for(registry, folder / "output.txt")
        yield registry
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)


def _wait_for(registry: Registry, output: Path) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            Client(registry).ask("GET", "/v2/", status=200)
        except OSError:
            if time.monotonic() > deadline:
                raise RuntimeError(output.read_text()[-2000:]) from None
            time.sleep(0.1)
        else:
            return


def seconds(work: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - started


def make_large(path: Path, seed: int) -> str:
    """Other bytes in each round: what is known need not be stored again."""
    block, tally = random.Random(seed).randbytes(STEP), hashlib.sha256()
    with path.open("wb") as sink:
        for _ in range(LARGE // STEP):
            sink.write(block)
            tally.update(block)
    return f"sha256:{tally.hexdigest()}"


def push_large(registry: Registry, path: Path, digest: str) -> None:
    with path.open("rb") as source:
        Client(registry).push(digest, source, LARGE)


def pull_large(registry: Registry, digest: str) -> None:
    assert Client(registry).pull(digest) == LARGE


def push_small(registry: Registry, seed: int) -> None:
    noise = random.Random(seed)
    blobs = [noise.randbytes(SMALL) for _ in range(SMALL_BLOBS)]

    def one_client(number: int) -> None:
        client = Client(registry)
        for blob in blobs[number::CLIENTS]:
            client.push(digest_of(blob), blob, len(blob))

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(one_client, range(CLIENTS)))


def push_manifest(registry: Registry) -> None:
    client, layer = Client(registry), b"a layer"
    parts = []
    for data, kind in ((b"{}", "application/vnd.oci.image.config.v1+json"), (layer, "application/octet-stream")):
        client.push(digest_of(data), data, len(data))
        parts.append({"mediaType": kind, "digest": digest_of(data), "size": len(data)})
    document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": parts[0], "layers": parts[1:]}
    raw = json.dumps(document).encode()
    client.ask("PUT", f"/v2/{NAME}/manifests/edge", raw, status=201, Content_Type=MANIFEST).read()


def ask_for_manifest(registry: Registry, method: str) -> None:
    client = Client(registry)
    for _ in range(REQUESTS):
        client.ask(method, f"/v2/{NAME}/manifests/edge", status=200, Accept=MANIFEST).read()


def compare(what: str, larder: list[float], theirs: list[float], *, amount: float, unit: str, wanted: str) -> None:
    """Rates, so that more is better on both sides."""
    rates, reference = ([amount / took for took in times] for times in (larder, theirs))
    print(figures.line(f"{what}: Larder", rates, unit))
    print(figures.line(f"{what}: docker-registry", reference, unit))
    print(figures.ratio(f"{what}: rate", figures.median(rates), figures.median(reference), wanted))


def large(larder: Registry, theirs: Registry, folder: Path) -> None:
    path, rounds = folder / "large", range(ROUNDS)
    pushes: dict[Registry, list[float]] = {larder: [], theirs: []}
    pulls: dict[Registry, list[float]] = {larder: [], theirs: []}
    for number in rounds:
        digest = make_large(path, number)
        for registry in (larder, theirs):
            pushes[registry].append(seconds(push_large, registry, path, digest))
            pulls[registry].append(seconds(pull_large, registry, digest))
    megabytes = LARGE / 1e6
    compare("push of 1 GB", pushes[larder], pushes[theirs], amount=megabytes, unit="MB/s", wanted=">= 0.5")
    compare("pull of 1 GB", pulls[larder], pulls[theirs], amount=megabytes, unit="MB/s", wanted=">= 0.5")
    path.unlink()


def memory(larder: Registry, folder: Path) -> None:
    """Against a Larder that has just started. In separate rounds: sampling takes processor time from everybody."""
    path, growth, before = folder / "large", [], trees.pss(larder.pid)
    for number in range(ROUNDS):
        digest = make_large(path, ROUNDS + number)
        with trees.Peak(larder.pid) as peak:
            push_large(larder, path, digest)
            pull_large(larder, digest)
        growth.append(peak.peak - before)
    path.unlink()
    print(figures.line("growth of all processes, summed PSS (< 48)", growth, "MB"))


def small(larder: Registry, theirs: Registry) -> None:
    times: dict[Registry, list[float]] = {larder: [], theirs: []}
    for number in range(ROUNDS):
        for registry in (larder, theirs):
            times[registry].append(seconds(push_small, registry, number))
    what = f"{SMALL_BLOBS} blobs of 1 kB, {CLIENTS} clients"
    compare(what, times[larder], times[theirs], amount=SMALL_BLOBS, unit="/s", wanted=">= 0.3")


def manifests(larder: Registry, theirs: Registry) -> None:
    for registry in (larder, theirs):
        push_manifest(registry)
    for method in ("HEAD", "GET"):
        times: dict[Registry, list[float]] = {larder: [], theirs: []}
        for registry in [larder, theirs] * (ROUNDS + 1):
            times[registry].append(seconds(ask_for_manifest, registry, method))
        first = slice(1, None)  # the first round only warms up
        took = (times[larder][first], times[theirs][first])
        compare(f"{method} of a manifest", *took, amount=REQUESTS, unit="/s", wanted=">= 0.5")


def main() -> None:
    if shutil.which("docker-registry") is None:
        print("docker-registry is not installed (apt-get install docker-registry): nothing to compare with")
        return
    with tempfile.TemporaryDirectory(prefix="larder-bench-") as name:
        folder = Path(name)
        with start_live(folder / "larder", LARDER_TLS="off") as live, docker_registry(folder / "theirs") as theirs:
            token = live.token()
            with live.client(token) as client:
                client.put("/api/v1/namespaces/bench", json={"visibility": "private"}).raise_for_status()
            larder = Registry(live.url, live.process.pid, token)
            print(f"load average at the start: {os.getloadavg()[0]:.1f}")
            memory(larder, folder)
            manifests(larder, theirs)
            small(larder, theirs)
            large(larder, theirs, folder)
            print(f"load average at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
