"""Reads beside 200 slow connections, against the same reads without them.

The slow clients are those of tests/e2e/server/slow_clients.py, the same number of each kind, in a process of their own.
Half of the reads are ready answers, half go to Django. Slow clients are cut off after LARDER_CLIENT_TIMEOUT_SECONDS and
come again at once.

They begin spread over that time, as clients that know nothing of each other do, and so each is cut off at a moment of
its own. A further figure has them begin at once: then all are cut off in the middle of the reads, refused, and back
with a handshake each, within a second. Its p99 is the length of that second rather than what slow clients cost.
"""

import statistics
import subprocess
import sys
import time
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
TIMEOUT = 30.0  # the default of LARDER_CLIENT_TIMEOUT_SECONDS
READY, DJANGO = "ready", "by Django"
ALONE, APART, TOGETHER = "alone", "apart", "together"


def measure(bench: Bench) -> Iterator[Figure]:
    live = bench.larder(is_seeded=False, tls=True)
    token = bench.token(live)
    with live.client(token) as client:
        client.put("/api/v1/namespaces/bench-slow", json={"visibility": "private"}).raise_for_status()
    live.publish("bench-slow/first/local", "1.0.0", module_zip(), token)
    versions, numbers = "/v1/modules/bench-slow/first/local/versions", count()
    reads = {READY: lambda: versions, DJANGO: lambda: f"{versions}?n={next(numbers)}"}
    connections, seconds, timeout = (15, 0.5, 0.0) if bench.is_tiny else (CONNECTIONS, SECONDS, TIMEOUT)
    taken: dict[tuple[str, str], list[list[float]]] = {}

    def read(kind: str, when: str) -> None:
        taken.setdefault((kind, when), []).append(latencies(live, token, reads[kind], seconds))

    for _ in range(bench.rounds):
        for kind in reads:
            read(kind, ALONE)
        with _slow(live.url, token, connections, spread=timeout) as connected:
            for kind in reads:
                read(kind, APART)
        with _slow(live.url, token, connections, spread=0.0):
            time.sleep(max(0.0, timeout - seconds / 2))
            read(DJANGO, TOGETHER)
    for kind, when in ((READY, APART), (DJANGO, APART), (DJANGO, TOGETHER)):
        beside, alone = taken[kind, when], taken[kind, ALONE]
        work = f"p99 of reads, {kind}, beside {connected} slow connections"
        work, wanted = (work, "< 2") if when == APART else (f"{work} that are cut off together", "")
        medians = [statistics.median(one) for one in beside]
        yield Figure(work, [*map(p99, beside)], "ms", [*map(p99, alone)], "without them", wanted, medians)


@contextmanager
def _slow(url: str, token: str, connections: int, *, spread: float) -> Iterator[int]:
    """Begin them within `spread` seconds; yields how many there are once all of them have begun."""
    command = [sys.executable, "-m", "bench.slow", url, token, str(connections), str(spread)]
    process = subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.communicate()  # the end of its input tells it to stop
    if process.returncode:
        raise RuntimeError("The slow clients failed, with the traceback above.")


def _hang(url: str, token: str, connections: int, spread: float) -> None:
    kinds = [client for client, many in slow_clients.kinds(url, token, 2).values() if many > 1]
    count = -(-connections // len(kinds)) * len(kinds)
    with ExitStack() as stack:
        slow = []
        for number in range(count):
            slow.append(stack.enter_context(slow_clients.hang(url, kinds[number % len(kinds)], 1)))
            time.sleep(spread / count)
        eventually(lambda: all(one.connected for one in slow), seconds=60, what="connections")
        print(count, flush=True)
        sys.stdin.read()
        for one in slow:  # all at once: the end of each waits for its thread
            one.is_over.set()


if __name__ == "__main__":
    _hang(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
