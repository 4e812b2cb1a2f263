"""Reads while 3 modules a second are published, against the same reads alone: what a publish costs everybody else.

The readers keep a pace, as clients do. A saturated server would only show how the processors are shared.
"""

import random
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

import httpx

from bench.larder import Bench
from bench.report import Figure
from tests.builders.archives import module_zip
from tests.live import Live

MODULES_A_SECOND = 3
READS_A_SECOND = 100
SECONDS, ALONE_SECONDS = 300, 60
PUBLISHERS = 8
NAMESPACES = {"of another namespace": "bench-quiet", "of the namespace": "bench-busy"}


def measure(bench: Bench) -> Iterator[Figure]:
    live = bench.larder(is_seeded=False, tls=False)
    token = bench.token(live)
    with live.client(token) as client:
        for name in NAMESPACES.values():
            client.put(f"/api/v1/namespaces/{name}", json={"visibility": "private"}).raise_for_status()
            live.publish(f"{name}/first/local", "1.0.0", module_zip(comment=name.encode()), token)
        seconds, alone_seconds = (0.5, 0.5) if bench.is_tiny else (SECONDS, ALONE_SECONDS)
        alone = {where: _latencies(live, token, name, alone_seconds) for where, name in NAMESPACES.items()}
        for where, name in NAMESPACES.items():
            with _publishing(client) as published:
                taken = _latencies(live, token, name, seconds)
            yield Figure(
                f"p99 of reads {where} while {MODULES_A_SECOND} modules a second are published",
                [_p99(taken)],
                "ms",
                [_p99(alone[where])],
                "alone",
                "<= 2",
                [statistics.median(taken)],
                note={"published": len(published), "reads": len(taken)},
            )


def _latencies(live: Live, token: str, namespace: str, seconds: float) -> list[float]:
    """Milliseconds of `versions` and `download`, at a pace that no answer delays."""
    paths = [f"/v1/modules/{namespace}/first/local/{rest}" for rest in ("versions", "1.0.0/download")]
    taken: list[float] = []
    with live.client(token) as client:

        def read(number: int, due: float) -> None:
            client.get(paths[number % 2]).raise_for_status()
            taken.append(1000 * (time.perf_counter() - due))

        for path in paths:
            client.get(path).raise_for_status()
        with ThreadPoolExecutor(PUBLISHERS) as pool:
            began = time.perf_counter()
            for number in range(int(seconds * READS_A_SECOND)):
                due = began + number / READS_A_SECOND
                time.sleep(max(0.0, due - time.perf_counter()))
                pool.submit(read, number, due)
    return taken


@contextmanager
def _publishing(client: httpx.Client) -> Iterator[list[int]]:
    """Publish until the block ends; the list has the status of each upload afterwards."""
    is_over, noise, asked = threading.Event(), random.Random(time.time_ns()), []

    def publish(name: str, data: bytes) -> int:
        answer = client.put(f"/api/v1/modules/bench-busy/{name}/local/1.0.0", content=data)
        return int(answer.raise_for_status().status_code)

    def publish_all() -> None:
        with ThreadPoolExecutor(PUBLISHERS) as pool:
            while not is_over.wait(1 / MODULES_A_SECOND):
                data = noise.randbytes(8)
                asked.append(pool.submit(publish, f"m{data.hex()}", module_zip(comment=data)))

    published: list[int] = []
    thread = threading.Thread(target=publish_all)
    thread.start()
    try:
        yield published
    finally:
        is_over.set()
        thread.join()
        wait(asked)
        published += [one.result() for one in asked]


def _p99(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=100)[98]
