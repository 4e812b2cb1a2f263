"""Uploads against writing and hashing the same bytes, their memory, and where a small module's time goes."""

import hashlib
import os
import random
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from bench import trees
from bench.larder import Bench
from bench.report import Figure
from tests.builders.archives import module_zip
from tests.live import Live

MIB = 1024 * 1024
STEPS = ("receive", "wait", "check", "finalise", "acknowledge", "all")


def measure(bench: Bench) -> Iterator[Figure]:
    for tls in (True, False):
        live = bench.larder(is_seeded=False, tls=tls)
        token = bench.token(live)
        with live.client(token) as client:
            client.put("/api/v1/namespaces/bench-uploads", json={"visibility": "private"}).raise_for_status()
        if tls:
            yield from _latency(bench, live, token)
        yield from _large(bench, live, token)


def _large(bench: Bench, live: Live, token: str) -> Iterator[Figure]:
    """A gigabyte, as one blob, by curl. Over TLS, curl's own work counts as well."""
    path, size = bench.folder / "large", (2 if bench.is_tiny else 1024) * MIB
    is_tls = live.url.startswith("https")
    suffix, http2 = (", TLS", "--http2") if is_tls else ("", "--http2-prior-knowledge")
    ways = {f"HTTP/1.1{suffix}": ("--http1.1", "<= 1.2"), f"HTTP/2{suffix}": (http2, "<= 1.5")}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    alone: list[float] = []
    growth: list[float] = []
    for number in range(bench.rounds):
        for way, (option, _) in ways.items():
            digest = make(path, size, f"{number} {way}")
            seconds[way].append(_push(live, token, path, digest, option))
        alone.append(write_and_hash(path, bench.folder))
        digest, before = make(path, size, f"{number} memory"), trees.pss(live.process.pid)
        with trees.Peak(live.process.pid) as peak:
            _push(live, token, path, digest, "--http1.1")
        growth.append(peak.peak - before)
    for way, (_, wanted) in ways.items():
        work = f"upload of {size // MIB:,} MiB, {way}"
        yield Figure(work, seconds[way], "s", alone, "writing and hashing", wanted)
    yield Figure(f"upload of {size // MIB:,} MiB{suffix}, growth of all processes", growth, "MB", wanted="<= 32")
    path.unlink()


def make(path: Path, size: int, seed: str) -> str:
    """Other bytes for each seed: what is known need not be stored again. Returns the digest."""
    block, tally = random.Random(seed).randbytes(MIB), hashlib.sha256()
    with path.open("wb") as sink:
        for _ in range(size // MIB):
            sink.write(block)
            tally.update(block)
    return f"sha256:{tally.hexdigest()}"


def _push(live: Live, token: str, path: Path, digest: str, option: str) -> float:
    with live.client(token) as client:
        begun = client.post("/v2/bench-uploads/blob/test/blobs/uploads/")
        begun.raise_for_status()
    url = live.url + begun.headers["Location"].removeprefix(live.url)
    curl = ["curl", "-sS", "--fail", option, "--cacert", str(live.ca_bundle), "-H", f"Authorization: Bearer {token}"]
    kind = ["-H", "Content-Type: application/octet-stream"]
    started = time.perf_counter()
    subprocess.run([*curl, *kind, "-T", path, f"{url}{'&' if '?' in url else '?'}digest={digest}"], check=True)
    return time.perf_counter() - started


def write_and_hash(path: Path, folder: Path) -> float:
    """The same bytes to the same disk, hashed and synced, by one loop."""
    started = time.perf_counter()
    tally = hashlib.sha256()
    with path.open("rb") as source, (folder / "reference").open("wb") as sink:
        while chunk := source.read(256 * 1024):
            tally.update(chunk)
            sink.write(chunk)
        sink.flush()
        os.fsync(sink.fileno())
    return time.perf_counter() - started


def _latency(bench: Bench, live: Live, token: str) -> Iterator[Figure]:
    """From upload to published, for a module of 1 MiB."""
    parts: dict[str, list[float]] = {name: [] for name in STEPS}
    noise = random.Random(0)
    with live.client(token) as client:
        for number in range(bench.rounds * (1 if bench.is_tiny else 5)):
            data = module_zip({"main.tf": "locals {}\n", "data.bin": noise.randbytes(MIB)})
            started = time.time()
            answer = client.put(f"/api/v1/modules/bench-uploads/small/local/1.0.{number}", content=data).json()
            received = time.time()
            while (document := client.get(f"/api/v1/releases/{answer['id']}").json())["state"] != "published":
                if document["state"] not in ("received", "checking"):
                    raise RuntimeError(f"the module was not published: {document}")
                time.sleep(0.02)
            seen = time.time()
            taken = datetime.fromisoformat(document["checking_at"]).timestamp()
            checked = datetime.fromisoformat(document["steps"][1]["at"]).timestamp()
            published = datetime.fromisoformat(document["published_at"]).timestamp()
            moments = (started, received, taken, checked, published, seen)
            for name, begun, ended in zip(STEPS, moments, moments[1:], strict=False):
                parts[name].append(ended - begun)
            parts["all"].append(seen - started)
    for name, values in parts.items():
        yield Figure(f"1 MiB module to published: {name}", values, "s")
