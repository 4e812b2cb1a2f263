"""Says which tests failed, for `.ci/run`, which runs them a second time: a line each, as pytest takes them by `@file`.

LARDER_TEST_FAILURES is a folder, in which each run has a file: `sqlite`, `postgres`, or `full` (the stack). A run that
broke off, or could not collect its tests, writes nothing.
"""

import os
from pathlib import Path

import pytest
from django.conf import settings

from tests import stack

FAILED: dict[str, None] = {}  # in their order, each once: a test may fail and its teardown too


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        # Not the id of the report, which names the xdist group as well.
        path, _, name = report.location
        FAILED[f"{path}::{name}"] = None


def pytest_sessionfinish(exitstatus: int) -> None:
    folder = os.environ.get("LARDER_TEST_FAILURES")
    if folder and "PYTEST_XDIST_WORKER" not in os.environ and exitstatus in (0, 1):
        name = stack.NAME if stack.IS_FULL else settings.TEST_DATABASE
        Path(folder, name).write_text("".join(f"{line}\n" for line in FAILED))
