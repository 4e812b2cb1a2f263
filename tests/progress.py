"""Cheap tests first, and how long the rest will take: by what each file took the last time, from pytest's cache."""

import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable
from typing import Any

import pytest

KEY = "larder/seconds"
# A test of a folder that never ran here, in seconds of one core; of others, 0.05. A live test takes about one.
ROUGH = {"house": 0.3, "site": 0.2, "signing": 0.2, "providers": 0.1, "flows": 0.1, "blobs": 0.1}
SAY_EVERY = 20.0


class Progress:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.cache: Any = getattr(config, "cache", None)
        self.known: dict[str, float] = self.cache.get(KEY, {}) if self.cache else {}
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.ended: Counter[str] = Counter()
        self.all = self.done = self.began = self.said = 0.0

    def cost(self, path: str, *, is_live: bool = False) -> float:
        """Of one test; the work around it counts as well, or the many cheap ones would seem to take nothing."""
        return 0.03 + (self.known.get(path) or (1.0 if is_live else ROUGH.get(path.split("/")[1], 0.05)))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Round pytest-django, which sorts by what tests do to the database and keeps the order of equal ones."""
        if not hasattr(self.config, "workerinput"):
            yield
            return
        items.sort(key=lambda item: (self.cost(path_of(item.nodeid)), path_of(item.nodeid)))
        yield
        groups: defaultdict[str, float] = defaultdict(float)
        for item in items:
            groups[group_of(item)] += self.cost(path_of(item.nodeid), is_live=True)
        live = [item for item in items if group_of(item)]
        live.sort(key=lambda item: (-groups[group_of(item)], path_of(item.nodeid)))
        others = [item for item in items if not group_of(item)]
        # In their midst: mistakes show early, and nobody is left alone with a whole Larder in the end.
        items[:] = [*others[: len(others) // 2], *live, *others[len(others) // 2 :]]

    def begin(self, ids: Iterable[str]) -> None:
        self.all = sum(self.cost(path_of(name)) for name in ids)
        self.began = self.said = time.monotonic()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.begin(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)  # with xdist, instead of the one before
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self.begin(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        path, now = path_of(report.nodeid), time.monotonic()
        if not isinstance(report, pytest.SubtestReport):  # whose time is in that of its test
            self.seconds[path] += report.duration
        if report.when != "teardown":
            return
        self.ended[path] += 1
        self.done += self.cost(path)
        reporter: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter and now - self.said > SAY_EVERY and self.done > self.all / 50:
            self.said = now
            left = (now - self.began) / self.done * (self.all - self.done)
            if reporter._tw.width_of_current_line:
                reporter.write_line("")
            reporter.write_line(f"about {left // 60:.0f}:{left % 60:02.0f} left ({self.ended.total()} tests done)")

    def pytest_sessionfinish(self) -> None:
        if self.cache and not hasattr(self.config, "workerinput"):
            measured = {path: round(self.seconds[path] / count, 3) for path, count in self.ended.items()}
            self.cache.set(KEY, self.known | measured)


def path_of(name: str) -> str:
    return name.partition("::")[0]


def group_of(item: pytest.Item) -> str:
    mark = item.get_closest_marker("xdist_group")
    return str(mark.args[0]) if mark else ""


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Progress(config))
