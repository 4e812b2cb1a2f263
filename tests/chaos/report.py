"""The chaos report: a line for each fault of cases.toml, from what its tests did and measured.

It stands at the end of a run that had tests of this folder, and in the file that CHAOS_REPORT names. With that variable
(`make chaos`) the run has to have made every fault: it fails if one did not run.
"""

import os
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.chaos.cases import Case, cases

FILE = os.environ.get("CHAOS_REPORT", "")
NO_ANSWER = 0
MEASURED: dict[str, list[tuple[str, Any]]] = {}  # by test, until its report takes them along


def measured(**figures: Any) -> None:
    """Figures of the running test: `recovery` and `uploads` (until the next) in seconds, `memory` in MB, or a text."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    MEASURED.setdefault(test, []).extend(figures.items())


def answered(answers: Mapping[int, int]) -> None:
    """Record how many answers of each status the test's clients were given; 0: none."""
    measured(answers=sorted(answers.items()))


@dataclass
class Seen:
    """The results of a test function, with all of its parameters."""

    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    figures: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        return next((one for one in ("failed", "passed", "skipped") if self.outcomes[one]), "")


SEEN: dict[str, Seen] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send the figures with the report: the test may have run in a worker of xdist."""
    report = yield
    for name, value in MEASURED.pop(item.nodeid, ()):
        report.user_properties.append(("chaos", [name, value]))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    path, _, name = report.location
    seen = SEEN.setdefault(f"{path.removeprefix('tests/')}::{name.partition('[')[0]}", Seen())
    seen.seconds += report.duration
    # A test that ran is one, however its fixtures ended; a fixture that fails fails it.
    if report.when == "call" or not report.passed:
        seen.outcomes[report.outcome] += 1
    seen.figures += [tuple(value) for kind, value in report.user_properties if kind == "chaos"]  # type: ignore[misc, arg-type]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not FILE and not any(name.startswith(("chaos/test_faults", "chaos/test_busy")) for name in SEEN):
        return
    lines = list(report(SEEN))
    terminalreporter.section("chaos report")
    for line in lines:
        terminalreporter.write_line(line)
    if FILE:
        Path(FILE).parent.mkdir(parents=True, exist_ok=True)
        Path(FILE).write_text("".join(f"{line}\n" for line in lines))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if FILE and exitstatus == pytest.ExitCode.OK and any("NOT RUN" in line for line in report(SEEN)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def report(seen: Mapping[str, Seen], wanted: Sequence[Case] = ()) -> Iterator[str]:
    """A line for each case; `wanted`: for other ones than those of cases.toml."""
    for case in wanted or cases():
        found = [seen.get(test, Seen()) for test in case.tests]
        count, seconds = sum(one.outcomes.total() for one in found), sum(one.seconds for one in found)
        parts = [f"{count} {'test' if count == 1 else 'tests'} in {seconds:.0f} s"] if count else []
        parts += figures([figure for one in found for figure in one.figures])
        yield f"{case.number or '':>2} {outcome(case, found):<8} {case.what}{': ' * bool(parts)}{'; '.join(parts)}"


def outcome(case: Case, found: list[Seen]) -> str:
    """Return the worst outcome: a case of three tests has passed if all three have."""
    by_outcome = Counter(one.outcome for one in found)
    if by_outcome["failed"]:
        return "FAILED"
    if missing := by_outcome[""]:
        return "NOT RUN" if missing == len(case.tests) else f"NOT RUN ({missing} of {len(case.tests)})"
    if skipped := by_outcome["skipped"]:
        return "skipped" if skipped == len(case.tests) else f"passed ({skipped} of {len(case.tests)} skipped)"
    return "passed"


def figures(found: list[tuple[str, Any]]) -> Iterator[str]:
    """Answers are added up; of the other figures the worst one counts, and each text stands for itself."""
    answers: Counter[int] = Counter()
    for name, value in found:
        if name == "answers":
            answers.update(dict(value))
    if answers:
        said = {status: "none" if status == NO_ANSWER else str(status) for status in answers}
        yield "answers " + ", ".join(f"{answers[status]} of {said[status]}" for status in sorted(answers))
    for what, wanted in (("in order", "recovery"), ("the next upload", "uploads")):
        if seconds := [value for name, value in found if name == wanted]:
            spread = f" (median of {len(seconds)}: {median(seconds):.1f} s)" if len(seconds) > 1 else ""
            yield f"{what} {max(seconds):.1f} s after the fault{spread}"
    if memory := [value for name, value in found if name == "memory"]:
        yield f"memory {max(memory):+.1f} MB"
    yield from dict.fromkeys(f"{name} {value}" for name, value in found if isinstance(value, str))
