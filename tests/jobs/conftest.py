from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery import Celery, signals
from django.db.models import F

from apps.jobs import queue
from apps.jobs.models import Job
from registry_site.celery import app as larder
from tests.postgres import free_port


def becomes_the_broker(url: str) -> Iterator[None]:
    elsewhere = Celery("elsewhere", broker=url, set_as_current=False)
    elsewhere.set_default()
    try:
        yield
    finally:
        larder.set_default()


@pytest.fixture
def rung() -> Iterator[list[tuple[str, int]]]:
    """Every ring that reached the broker: the task's name and the job's id."""
    seen: list[tuple[str, int]] = []

    def note(sender: str, body: Any, **_: object) -> None:
        seen.append((sender, body[1]["job_id"]))

    signals.after_task_publish.connect(note, weak=False)
    try:
        for _ in becomes_the_broker("memory://"):
            yield seen
    finally:
        signals.after_task_publish.disconnect(note)


@pytest.fixture
def broker_away() -> Iterator[None]:
    yield from becomes_the_broker(f"redis://127.0.0.1:{free_port()}/0")


@pytest.fixture
def job(transactional_db: None, rung: list[tuple[str, int]]) -> Job:
    return queue.enqueue("test.work", target=7, created_by_id=None)


@pytest.fixture
def pass_time(job: Job) -> Callable[[timedelta], None]:
    """Let time pass for the job: everything it remembers moves into the past, by the database's own arithmetic."""

    def move(by: timedelta) -> None:
        times = ("lease_until", "not_before", "rung_at")
        Job.objects.filter(pk=job.pk).update(**{name: F(name) - by for name in times})

    return move
