"""Reads while 3 modules a second are published, against the same reads alone: the cost of a publish to other requests.

The readers keep a pace, as clients do. A saturated server would only show how the processors are shared. The publishers
are a process of their own, so that they do not delay the readers' clock.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle

import httpx

from bench.larder import Bench
from bench.report import Figure
from tests.builders.archives import module_zip
from tests.live import CHECKOUT, Live

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
        alone = {where: latencies(live, token, _reads(name), alone_seconds) for where, name in NAMESPACES.items()}
        for where, name in NAMESPACES.items():
            with _publishing(live, token) as published:
                taken = latencies(live, token, _reads(name), seconds)
            yield Figure(
                f"p99 of reads {where} while {MODULES_A_SECOND} modules a second are published",
                [p99(taken)],
                "ms",
                [p99(alone[where])],
                "alone",
                "<= 2",
                [statistics.median(taken)],
                note={"published": sum(published), "reads": len(taken)},
            )


def _reads(namespace: str) -> Callable[[], str]:
    """`versions` and `download` in turns."""
    paths = cycle(f"/v1/modules/{namespace}/first/local/{rest}" for rest in ("versions", "1.0.0/download"))
    return lambda: next(paths)


def latencies(live: Live, token: str, path: Callable[[], str], seconds: float) -> list[float]:
    """Milliseconds of the reads, at a pace that no answer delays."""
    taken: list[float] = []
    with live.client(token) as client:

        def read(asked: str, due: float) -> None:
            client.get(asked).raise_for_status()
            taken.append(1000 * (time.perf_counter() - due))

        for _ in range(2):
            client.get(path()).raise_for_status()
        with ThreadPoolExecutor(PUBLISHERS) as pool:
            began = time.perf_counter()
            for number in range(int(seconds * READS_A_SECOND)):
                due = began + number / READS_A_SECOND
                time.sleep(max(0.0, due - time.perf_counter()))
                pool.submit(read, path(), due)
    return taken


@contextmanager
def _publishing(live: Live, token: str) -> Iterator[list[int]]:
    """Publish until the block ends; the list has their number afterwards. Raises RuntimeError if one is refused."""
    command = [sys.executable, "-m", "bench.publishing", live.url, token]
    environment = dict(os.environ)  # noqa: TID251  # the child is no Larder
    if live.ca_bundle.exists():
        environment["SSL_CERT_FILE"] = str(live.ca_bundle)
    publishers = subprocess.Popen(
        command, cwd=CHECKOUT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    published: list[int] = []
    try:
        yield published
    finally:
        said, _ = publishers.communicate()  # the end of its input tells it to stop
    if publishers.returncode:
        raise RuntimeError("The publishers failed, with the traceback above.")
    with live.client(token) as client:
        ended = [live.wait_for(client, f"/api/v1/releases/{number}")["state"] for number in json.loads(said)]
    if set(ended) != {"published"}:
        raise RuntimeError(f"Not all modules were published: {sorted(set(ended))}")
    published.append(len(ended))


def _publish_all(url: str, token: str) -> list[str]:
    """Publish one, and more at the pace until the input ends. Returns the numbers of the releases."""
    noise = random.Random(time.time_ns())
    asked: list[Future[str]] = []
    is_over = threading.Event()

    def listen() -> None:
        sys.stdin.read()
        is_over.set()

    def publish(name: str, data: bytes) -> str:
        answer = client.put(f"/api/v1/modules/bench-busy/{name}/local/1.0.0", content=data)
        return str(answer.raise_for_status().json()["id"])

    headers = {"Authorization": f"Bearer {token}"}
    threading.Thread(target=listen, daemon=True).start()
    with httpx.Client(base_url=url, headers=headers, timeout=30) as client, ThreadPoolExecutor(PUBLISHERS) as pool:
        while not asked or not is_over.wait(1 / MODULES_A_SECOND):
            name = f"m{noise.randbytes(8).hex()}"
            asked.append(pool.submit(publish, name, module_zip(comment=name.encode())))
    return [one.result() for one in asked]


def p99(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=100)[98]


if __name__ == "__main__":
    print(json.dumps(_publish_all(*sys.argv[1:])))
