"""cases.toml is the list of faults: every test in it exists, and every fault here is in it."""

import re
import tomllib
from pathlib import Path

CASES = set(range(1, 22))
TESTS = Path(__file__).resolve().parent.parent


def names_in(path: Path) -> set[str]:
    return set(re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE))


def test_each_case_names_tests_that_exist_and_none_is_left_out():
    cases = tomllib.loads((TESTS / "chaos" / "cases.toml").read_text())
    named = {tuple(test.split("::")) for tests in cases.values() for test in tests}

    assert {(path, name) for path, name in named if name not in names_in(TESTS / path)} == set()
    own = {name for path in (TESTS / "chaos").glob("test_*.py") if path != Path(__file__) for name in names_in(path)}
    assert own == {name for path, name in named if path.startswith("chaos/")}


def test_each_case_of_the_list_is_there():
    cases = tomllib.loads((TESTS / "chaos" / "cases.toml").read_text())

    assert {int(number) for case in cases if (number := case.split()[0]).isdecimal()} == CASES
