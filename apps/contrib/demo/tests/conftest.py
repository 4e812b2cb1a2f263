"""A demonstration, filled by what a worker would do, in this process."""

from typing import Any

import pytest
from celery import current_app

from apps.contrib.demo import filling, restoring, tasks
from apps.jobs.models import Job
from tests import children

ROUNDS = 20  # the module with the most versions has six


@pytest.fixture
def demonstration(settings: Any) -> Any:
    settings.DEMO = "on"
    return settings


def work() -> None:
    """Do each queued job, and those that they lead to."""
    with children.remembered():
        while job := Job.objects.filter(state="queued").order_by("pk").first():
            current_app.tasks[job.kind](job_id=job.pk)


@pytest.fixture
def filled(demonstration: Any, db: None, worker_host: None) -> None:
    """Complete, as the clock and a worker leave it some time after the first start."""
    for _ in range(ROUNDS):
        tasks.fill()
        work()
        if restoring.is_restored():
            return
    raise AssertionError(filling.states())
