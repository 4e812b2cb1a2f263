"""A demonstration, filled by what a worker would do, in this process."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.conf import settings
from django.db import transaction
from django.test import override_settings

from apps.contrib.demo import filling, restoring, tasks
from apps.jobs.models import Job
from apps.signing import vault
from tests import children
from tests.cast import BLOBS

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


@pytest.fixture(scope="module")
def shared(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The bytes of a complete demonstration, as the clock and a worker leave it some time after the first start.

    Its rows are in a transaction around those of the tests of a file: filling it takes five seconds.
    """
    outer: Any = transaction.atomic()
    outer._from_testcase = True  # as that of Django's TestCase: a durable block may be inside
    vault.unlock()
    try:
        with django_db_blocker.unblock(), override_settings(DEMO="on"), outer:
            shutil.rmtree(BLOBS, ignore_errors=True)
            for _ in range(ROUNDS):
                tasks.fill()
                work()
                if restoring.is_restored():
                    break
            else:
                raise AssertionError(filling.states())
            yield shutil.copytree(BLOBS, tmp_path_factory.mktemp("demonstration") / "blobs")
            transaction.set_rollback(True)
    finally:
        vault.lock()
        shutil.rmtree(Path(settings.DATA_DIR, "signing"), ignore_errors=True)


@pytest.fixture
def filled(shared: Path, demonstration: Any, db: None) -> None:
    shutil.copytree(shared, BLOBS)
