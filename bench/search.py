"""Searching and listing 10,000 modules against 100, 20 versions each: time, ratio, and the number of queries.

The word is in 20 modules either way, so that both answers show the same rows. Rows are written in bulk: the pipeline
would need a day.
"""

import tempfile
import time
from pathlib import Path

from bench import figures
from tests.live import Live, start_live

FEW, MANY = 100, 10_000
ROUNDS = 40
Times = dict[str, list[float]]
COUNT = """
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
host = settings.ALLOWED_HOSTS[0]
for path in PATHS:
    with CaptureQueriesContext(connection) as queries:
        assert Client().get(path, headers={"Host": host}, secure=True).status_code == 200
    print("queries:", len(queries))
"""
UNBOUND = "a word of every module"
PATHS = {
    "page of a search": "/modules?q=needle",
    "search of the protocol": "/v1/modules/search?q=needle",
    "page of the whole list": "/modules",
    "list of the protocol": "/v1/modules",
    UNBOUND: "/modules?q=some",
}


def measure(small: Live, large: Live) -> tuple[Times, Times]:
    """In turns, so that whatever else this machine does hits both."""
    few: Times = {what: [] for what in PATHS}
    many: Times = {what: [] for what in PATHS}
    with small.client() as to_small, large.client() as to_large:
        for _ in range(ROUNDS + 1):
            for what, path in PATHS.items():
                for client, times in ((to_small, few), (to_large, many)):
                    started = time.perf_counter()
                    client.get(path).raise_for_status()
                    times[what].append(time.perf_counter() - started)
    return {what: times[1:] for what, times in few.items()}, {what: times[1:] for what, times in many.items()}


def fill(larder: Live, start: int, stop: int, *, needles: int) -> None:
    script = f"from bench import shelves; shelves.fill({start}, {stop}, needles={needles})"
    larder.manage("shell", "-c", script)


def query_counts(larder: Live) -> list[int]:
    said = larder.manage("shell", "-c", COUNT.replace("PATHS", repr(list(PATHS.values()))))
    return [int(line.split()[-1]) for line in said.splitlines() if line.startswith("queries:")]


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="larder-bench-") as name,
        start_live(Path(name) / "small") as small,
        start_live(Path(name) / "large") as large,
    ):
        fill(small, 0, FEW, needles=20)
        started = time.perf_counter()
        fill(large, 0, MANY, needles=20)
        print(f"{MANY} modules written in {time.perf_counter() - started:.0f} s")
        few, many = measure(small, large)
        few_queries, many_queries = query_counts(small), query_counts(large)
    for place, what in enumerate(PATHS):
        print(figures.line(f"{what}, {FEW} modules, {few_queries[place]} queries", few[what], "s"))
        print(figures.line(f"{what}, {MANY} modules, {many_queries[place]} queries", many[what], "s"))
        bound = "for orientation" if what == UNBOUND else "<= 3"
        print(figures.ratio(what, figures.median(many[what]), figures.median(few[what]), bound))


if __name__ == "__main__":
    main()
