"""The worker's log of a task that failed."""

import celery
import pytest
import structlog
from django.db import OperationalError


@pytest.fixture
def log():
    with structlog.testing.capture_logs() as lines:
        yield lines


@celery.shared_task(name="tests.raises")
def raises(error):
    raise error


def test_a_database_that_is_away_is_said_in_one_line(log, caplog):
    raises.apply(args=(OperationalError("canceling statement due to lock timeout"),))

    assert [(one["event"], one["log_level"], one["task"]) for one in log] == [
        ("database_away", "warning", "tests.raises")
    ]
    assert not [record for record in caplog.records if record.exc_info]


def test_any_other_error_is_told_with_its_traceback(log, caplog):
    raises.apply(args=(ValueError("a defect of ours"),))

    assert log == []
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ValueError]
