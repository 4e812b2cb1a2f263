"""The list of faults (cases.toml) and their tests: `python -m tests.chaos.cases` prints these as pytest takes them."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

NUMBERS = range(1, 22)
TESTS = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Case:
    """`number` is that of the list of 21; 0: a fault beyond it. `tests` are `path::name`, below tests/."""

    number: int
    what: str
    tests: tuple[str, ...]


@cache
def cases() -> list[Case]:
    """By number, and those without one last. A number may have several: the ways in which one part fails."""
    found = tomllib.loads((TESTS / "chaos" / "cases.toml").read_text())
    return sorted(
        (_case(name, tests) for name, tests in found.items()), key=lambda case: (not case.number, case.number)
    )


def _case(name: str, tests: list[str]) -> Case:
    first, _, rest = name.partition(" ")
    return Case(int(first), rest, tuple(tests)) if first.isdecimal() else Case(0, name, tuple(tests))


def node_ids() -> list[str]:
    """Each test once, in the order of the list."""
    return list(dict.fromkeys(f"tests/{test}" for case in cases() for test in case.tests))


if __name__ == "__main__":
    print(*node_ids(), sep="\n")  # noqa: T201  # for the shell
