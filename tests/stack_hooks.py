"""Which tests run on the full stack (tests/stack.py), and what the run says of it."""

import pytest

from tests import stack


def pytest_configure(config: pytest.Config) -> None:
    if stack.NAME not in ("embedded", "full"):
        raise pytest.UsageError(f"LARDER_TEST_STACK={stack.NAME!r}: expected embedded or full")
    if stack.IS_FULL and (missing := stack.missing_programs()):
        raise pytest.UsageError(f"LARDER_TEST_STACK=full needs {missing}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where the parts are elsewhere, what looks into one machine's folder or processes finds nothing there."""
    for item in items if stack.IS_FULL else ():
        if marker := item.get_closest_marker("embedded"):
            item.add_marker(pytest.mark.skip(reason=f"embedded only: {marker.args[0]}"))


def pytest_report_header() -> str:
    return f"stack: {stack.NAME}" + (f" ({', '.join(stack.versions())})" if stack.IS_FULL else "")
