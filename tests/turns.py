"""Tests that are too dear for each day take turns by the date: `make test-all` has a third of them, `make nightly` all.

A file marked `turns` starts a Larder of its own or takes a minute; what it shows has tests at a lower level too, and no
entry of the mutations relies on it.
"""

from datetime import date
from zlib import crc32

import pytest

from tests.progress import path_of

TODAY = date.today().toordinal()  # noqa: DTZ011  # any day will do
DAYS = 3


def is_today(number: int, of: int = DAYS) -> bool:
    """Return whether the turn of this number is today, where so many take turns."""
    return TODAY % of == number % of


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before pytest's own, which selects by markers."""
    for item in items:
        if item.get_closest_marker("turns") and not is_today(crc32(path_of(item.nodeid).encode())):
            item.add_marker(pytest.mark.nightly)


def pytest_report_header() -> str:
    return f"turns: part {TODAY % DAYS + 1} of {DAYS} today"
