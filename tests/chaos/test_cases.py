"""cases.toml is the list of faults: every test in it exists, and every fault here is in it."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.chaos import report
from tests.chaos.cases import NUMBERS, TESTS, Case, cases, node_ids
from tests.chaos.report import Seen

CHECKS = ("test_cases.py", "test_invariants.py")  # of the list and of the checker: no faults
CASE = Case(9, "storage: hangs", ("chaos/test_a.py::test_one", "chaos/test_a.py::test_two"))


def names_in(path: Path) -> set[str]:
    return set(re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE))


def test_each_case_names_tests_that_exist_and_none_is_left_out():
    named = {tuple(test.split("::")) for case in cases() for test in case.tests}

    assert {(path, name) for path, name in named if name not in names_in(TESTS / path)} == set()
    own = {name for path in (TESTS / "chaos").glob("test_*.py") if path.name not in CHECKS for name in names_in(path)}
    assert own == {name for path, name in named if path.startswith("chaos/")}


def test_each_case_of_the_list_is_there_and_has_a_test():
    assert {case.number for case in cases()} == {0, *NUMBERS}
    assert all(case.tests for case in cases())


def test_the_long_form_runs_each_test_of_the_list_once():
    assert Counter(node_ids()) == Counter({f"tests/{test}" for case in cases() for test in case.tests})
    assert "pytest -s $$($(BIN)/python -m tests.chaos.cases)" in (TESTS.parent / "Makefile").read_text()


def seen(outcome: str, *figures: tuple[str, object]) -> Seen:
    return Seen(Counter([outcome]), 1.5, list(figures))


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        (("passed", "passed"), "passed"),
        (("passed", "failed"), "FAILED"),
        (("failed", ""), "FAILED"),
        (("passed", ""), "NOT RUN (1 of 2)"),
        (("", ""), "NOT RUN"),
        (("skipped", ""), "NOT RUN (1 of 2)"),
        (("skipped", "passed"), "passed (1 of 2 skipped)"),
        (("skipped", "skipped"), "skipped"),
    ],
)
def test_a_case_is_as_bad_as_its_worst_test(outcomes, said):
    assert report.outcome(CASE, [seen(one) if one else Seen() for one in outcomes]) == said


def test_a_line_adds_answers_up_and_has_the_worst_of_the_other_figures():
    one = seen("passed", ("answers", [(202, 3), (503, 1)]), ("recovery", 2.0), ("memory", 3.25), ("soak", "3 s"))
    two = seen("passed", ("answers", [(0, 1), (202, 4)]), ("recovery", 1.0), ("memory", -1.0), ("soak", "3 s"))
    lines = dict(zip(CASE.tests, (one, two), strict=True))

    [line] = report.report(lines, [CASE])
    assert line.split("; ") == [
        " 9 passed   storage: hangs: 2 tests in 3 s",
        "answers 1 of none, 7 of 202, 1 of 503",
        "in order 2.0 s after the fault (median of 2: 1.5 s)",
        "memory +3.2 MB",
        "soak 3 s",
    ]


def test_a_run_without_faults_says_so_of_each():
    lines = list(report.report({}))
    assert len(lines) == len(cases())
    assert all("NOT RUN" in line for line in lines)
