"""Skip what lacks one of its programs, servers or rights, and say so before the first test.

Tests, files and parameters are marked `@pytest.mark.needs("curl")`; a fixture is decorated `@needs("curl")`, below
pytest.fixture. So it is known before the first test what is missing, how many tests that skips, and which command
installs it. `LARDER_REQUIRE=terraform,postgres` makes the absence of these an error.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests import stack
from tests.programs import DATABASE, OF_THE_RUN, how_to_install, is_there, version_of

ADVISORIES = "advisories"  # is for .ci/run alone
REQUIRED = frozenset(os.environ.get("LARDER_REQUIRE", "").replace(",", " ").split()) - {ADVISORIES}
CLIENTS = [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("terraform", "tofu")]
F = TypeVar("F", bound=Callable[..., Any])
EXECUTED: Counter[str] = Counter()


def needs(*names: str) -> Callable[[F], F]:
    """A fixture needs these, and with it each test that asks for it."""

    def declare(function: F) -> F:
        vars(function)["needs"] = names
        return function

    return declare


def needs_of(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers("needs"):
        yield from mark.args
    for fixtures in item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ():
        yield from getattr(fixtures[-1].func, "needs", ())
    if DATABASE == "postgres":
        yield "postgres"
    if stack.IS_FULL and item.get_closest_marker("live"):
        yield from ("postgres", "redis-server")


def pytest_configure(config: pytest.Config) -> None:
    if stack.NAME not in ("embedded", "full"):
        raise pytest.UsageError(f"LARDER_TEST_STACK={stack.NAME!r}: expected embedded or full")
    if missing := sorted(name for name in REQUIRED if not is_there(name)):
        how = "; ".join(how_to_install(missing))
        raise pytest.UsageError(f"LARDER_REQUIRE asks for what is missing: {', '.join(missing)}. {how}")


@pytest.hookimpl(tryfirst=True)  # before xdist's own, which tells the main process that all is collected
def pytest_collection_finish(session: pytest.Session) -> None:
    missing: Counter[str] = Counter()
    skipped = 0
    for item in session.items:
        names = list(dict.fromkeys(needs_of(item)))
        item.user_properties.append(("needs", names))
        lacking = [name for name in names if not is_there(name)]
        if reasons := lacking or [mark.args[0] for mark in item.iter_markers("embedded") if stack.IS_FULL]:
            item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(lacking)}" if lacking else reasons[0]))
        missing.update(lacking)
        skipped += any(name not in OF_THE_RUN for name in lacking)
    said = ", ".join(f"{name} ({count})" for name, count in missing.most_common() if name not in OF_THE_RUN)
    line = f"Missing: {said}. This skips {skipped} of {len(session.items)} tests." if said else ""
    line += "".join(f" Install with: {command}." for command in how_to_install(list(missing)))
    if file := getattr(session.config, "workerinput", {}).get("missing"):
        Path(file).write_text(line)
    elif not hasattr(session.config, "workerinput"):
        say(session.config, line)


# With xdist the workers collect, and the first of them leaves the line where the main process finds it.
@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if node.gateway.id == "gw0":
        node.workerinput["missing"] = f"{os.environ['LARDER_DATA_DIR']}/missing"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    if file := node.workerinput.get("missing"):
        say(node.config, Path(file).read_text())


def say(config: pytest.Config, line: str) -> None:
    if line and (reporter := config.pluginmanager.get_plugin("terminalreporter")):
        reporter.ensure_newline()
        reporter.write_line(line, yellow=True)


def pytest_report_header() -> str:
    return f"stack: {stack.NAME}"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed and not isinstance(report, pytest.SubtestReport):
        for kind, names in report.user_properties:
            EXECUTED.update(names if kind == "needs" and isinstance(names, list) else ())


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for name, count in sorted(EXECUTED.items()):
        if version := version_of(name):
            terminalreporter.write_line(f"{name}: {count} tests passed with it ({version})")
