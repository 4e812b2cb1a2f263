"""Dear tests that guard nothing take turns by the date: `make test-all` has an eighth of them, `make nightly` all.

Dear is what is marked `live` or `slow`, unless it is `smoke` or `full`, which stand for their kind. A test that an
entry of the mutations names is never left out: so each protection is looked at by every run. Tests of tables that have
thousands of cells ask for those that are due (`is_due`, `in_turn`).
"""

from collections.abc import Iterable
from datetime import date
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest
from _pytest.mark import ParameterSet

from tests.larders import SHARED, made_for_a_file
from tests.mutations import mutations
from tests.progress import path_of

TODAY = date.today().toordinal()  # noqa: DTZ011  # any day will do
DAYS = 8
DEAR, NEVER = ("live", "slow"), ("smoke", "full")
FILES_BY = ("both", "full")  # the Makefile hands pytest the files with these marks alone


def is_due(number: int, days: int = DAYS) -> bool:
    """Return whether what has this number in an order that stays is looked at today."""
    return number % days == TODAY % days


def in_turn(values: Iterable[object], days: int = DAYS) -> list[ParameterSet]:
    """Return a test's parameters, of which a run has those that are due, and `make nightly` all."""
    return [
        pytest.param(value, marks=() if is_due(number, days) else pytest.mark.nightly)
        for number, value in enumerate(values)
    ]


def guarding() -> set[str]:
    """Return the folders, files and tests that entries of the mutations name."""
    return {name for one in mutations() for name in one.tests}


def guards(name: str, named: set[str]) -> bool:
    """Return whether a test, or a folder or file that it lies in, is among those named."""
    path = path_of(name)
    folders = {path[:place] for place, letter in enumerate(path) if letter == "/"}
    test = name.partition("[")[0].partition("@")[0]  # without parameters, and xdist's group
    return not named.isdisjoint({path, test, *folders})


def dealt_as(item: pytest.Item) -> str:
    """Return what has its turn as one: the test, or the file if its tests share what they have to make first."""
    starts = item.get_closest_marker("live") and set(SHARED).isdisjoint(getattr(item, "fixturenames", ()))
    # What a conftest declares is cheap beside a Larder.
    shares = any(one.baseid == path_of(item.nodeid) for one in made_for_a_file(item))
    return path_of(item.nodeid) if starts or shares else item.nodeid.partition("@")[0]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before pytest's own, which selects by markers."""
    named = guarding()
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        for mark in marks.intersection(FILES_BY):
            if f"mark.{mark}" not in text_of(item.path):
                raise pytest.UsageError(f"{item.nodeid}: `mark.{mark}` is not in its file, where the Makefile looks")
        if marks.isdisjoint(DEAR) or not marks.isdisjoint(NEVER) or guards(item.nodeid, named):
            continue
        item.add_marker(pytest.mark.turns)
        if not is_due(crc32(dealt_as(item).encode())):
            item.add_marker(pytest.mark.nightly)


@cache
def text_of(path: Path) -> str:
    return path.read_text()


def pytest_report_header() -> str:
    return f"turns: part {TODAY % DAYS + 1} of {DAYS} today"
