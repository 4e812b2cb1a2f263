"""Reads beside 200 slow connections, against the same reads without them.

The slow clients are those of tests/e2e/server/slow_clients.py, the same number of each kind, in a process of their own.
Half of the reads are ready answers, half go to Django. Slow clients are cut off after LARDER_CLIENT_TIMEOUT_SECONDS and
come again at once.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count

from bench.larder import Bench
from bench.publishing import latencies, p99
from bench.report import Figure
from tests.builders.archives import module_zip
from tests.e2e.server import slow_clients
from tests.live import CHECKOUT
from tests.site.processes import eventually

CONNECTIONS = 200
SECONDS = 20.0


def measure(bench: Bench) -> Iterator[Figure]:
    live = bench.larder(is_seeded=False, tls=True)
    token = bench.token(live)
    with live.client(token) as client:
        client.put("/api/v1/namespaces/bench-slow", json={"visibility": "private"}).raise_for_status()
    live.publish("bench-slow/first/local", "1.0.0", module_zip(), token)
    versions, numbers = "/v1/modules/bench-slow/first/local/versions", count()
    reads = {"ready": lambda: versions, "by Django": lambda: f"{versions}?n={next(numbers)}"}
    connections, seconds = (15, 0.5) if bench.is_tiny else (CONNECTIONS, SECONDS)
    taken: dict[str, tuple[list[float], list[float]]] = {kind: ([], []) for kind in reads}
    medians: dict[str, list[float]] = {kind: [] for kind in reads}
    for _ in range(bench.rounds):
        for kind, path in reads.items():
            taken[kind][1].append(p99(latencies(live, token, path, seconds)))
        with _slow(live.url, token, connections) as connected:
            for kind, path in reads.items():
                beside = latencies(live, token, path, seconds)
                taken[kind][0].append(p99(beside))
                medians[kind].append(sorted(beside)[len(beside) // 2])
    for kind, (beside, alone) in taken.items():
        work = f"p99 of reads, {kind}, beside {connected} slow connections"
        yield Figure(work, beside, "ms", alone, "without them", "< 2", medians[kind])


@contextmanager
def _slow(url: str, token: str, connections: int) -> Iterator[int]:
    """Yields how many there are once all of them have begun."""
    command = [sys.executable, "-m", "bench.slow", url, token, str(connections)]
    process = subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.communicate()  # the end of its input tells it to stop
    if process.returncode:
        raise RuntimeError("The slow clients failed, with the traceback above.")


def _hang(url: str, token: str, connections: int) -> None:
    kinds = [client for client, many in slow_clients.kinds(url, token, 2).values() if many > 1]
    each = -(-connections // len(kinds))
    with ExitStack() as stack:
        slow = [stack.enter_context(slow_clients.hang(url, client, each)) for client in kinds]
        eventually(lambda: all(one.connected >= each for one in slow), seconds=60, what="connections")
        print(each * len(slow), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _hang(sys.argv[1], sys.argv[2], int(sys.argv[3]))
