"""Upload of a large archive (memory of the whole tree, time against writing and hashing the same bytes), and the time
from upload to published of a small module with its parts. Run with `make bench`; it starts its own Larder.
"""

import hashlib
import os
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from bench import figures, trees
from tests.builders.archives import module_zip
from tests.live import Live, start_live

LARGE = 99 * 1024 * 1024
SMALL = 1024 * 1024
ROUNDS = 5
LATENCY_ROUNDS = 15
STEP = 256 * 1024


def archive(size: int, seed: int) -> bytes:
    """A valid module archive of about `size` bytes that does not compress."""
    noise = random.Random(seed).randbytes(size)
    return module_zip({"main.tf": "locals {}\n", "data.bin": noise})


def in_steps(data: bytes) -> Iterator[bytes]:
    view = memoryview(data)
    for start in range(0, len(data), STEP):
        yield bytes(view[start : start + STEP])


def write_and_hash(data: bytes, folder: Path) -> float:
    """The reference: the same bytes to the same disk, hashed and synced, by one loop."""
    started = time.perf_counter()
    tally = hashlib.sha256()
    with (folder / "reference").open("wb") as sink:
        for chunk in in_steps(data):
            tally.update(chunk)
            sink.write(chunk)
        sink.flush()
        os.fsync(sink.fileno())
    return time.perf_counter() - started


def upload(larder: Live, token: str, version: str, data: bytes) -> float:
    """Seconds until the upload is acknowledged; returns when it is published as well, so that rounds do not overlap."""
    with larder.client(token) as client:
        client.get("/healthz")
        started = time.perf_counter()
        answer = client.put(
            f"/api/v1/modules/bench/large/local/{version}",
            content=in_steps(data),
            headers={"Content-Length": str(len(data))},
        )
        seconds = time.perf_counter() - started
        assert answer.status_code == 202, answer.text
        larder.wait_for(client, f"/api/v1/releases/{answer.json()['id']}")
    return seconds


def large_uploads(larder: Live, token: str, folder: Path) -> None:
    """Time and memory in separate rounds: sampling the memory of a tree takes processor time from the client."""
    seconds, references, growth = [], [], []
    for number in range(ROUNDS):
        data = archive(LARGE, number)
        before = trees.pss(larder.process.pid)
        with trees.Peak(larder.process.pid) as peak:
            upload(larder, token, f"1.0.{number}", data)
        growth.append(peak.peak - before)
    for number in range(ROUNDS):
        data = archive(LARGE, ROUNDS + number)
        references.append(write_and_hash(data, folder))
        seconds.append(upload(larder, token, f"2.0.{number}", data))
    print(figures.line("upload of 99 MB", seconds, "s"))
    print(figures.line("writing and hashing the same bytes", references, "s"))
    print(figures.ratio("upload / writing and hashing", figures.median(seconds), figures.median(references), "< 2"))
    print(figures.line("growth of the tree's PSS, upload and check", growth, "MB"))


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def latency(larder: Live, token: str) -> None:
    parts: dict[str, list[float]] = {
        "receive": [],
        "wait": [],
        "check": [],
        "finalise": [],
        "acknowledge": [],
        "all": [],
    }
    with larder.client(token) as client:
        for number in range(LATENCY_ROUNDS):
            data = archive(SMALL, number)
            time.sleep(0.5)
            started = time.time()
            answer = client.put(f"/api/v1/modules/bench/small/local/1.0.{number}", content=data).json()
            received = time.time()
            while (document := client.get(f"/api/v1/releases/{answer['id']}").json())["state"] != "published":
                assert document["state"] in ("received", "checking"), document
                time.sleep(0.02)
            seen = time.time()
            checked = moment(document["steps"][1]["at"]).timestamp()
            published = moment(document["published_at"]).timestamp()
            taken = moment(document["checking_at"]).timestamp()
            parts["receive"].append(received - started)
            parts["wait"].append(taken - received)
            parts["check"].append(checked - taken)
            parts["finalise"].append(published - checked)
            parts["acknowledge"].append(seen - published)
            parts["all"].append(seen - started)
    for name, values in parts.items():
        print(figures.line(f"1 MB module, {name}", values, "s"))


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="larder-bench-") as name:
        folder = Path(name)
        with start_live(folder / "larder") as larder:
            token = larder.token()
            with larder.client(token) as client:
                client.put("/api/v1/namespaces/bench", json={"visibility": "private"}).raise_for_status()
            latency(larder, token)
            large_uploads(larder, token, folder)


if __name__ == "__main__":
    main()
