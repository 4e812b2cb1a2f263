"""cases.toml is the list of faults: every test in it exists, and every fault here is in it."""

import re
import tomllib
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent


def names_in(path: Path) -> set[str]:
    return set(re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE))


def test_each_case_names_tests_that_exist_and_none_is_left_out():
    cases = tomllib.loads((TESTS / "chaos" / "cases.toml").read_text())
    named = {tuple(test.split("::")) for tests in cases.values() for test in tests}

    assert {(path, name) for path, name in named if name not in names_in(TESTS / path)} == set()
    assert names_in(TESTS / "chaos" / "test_faults.py") == {name for path, name in named if path.startswith("chaos/")}
