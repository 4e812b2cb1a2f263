from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from apps.jobs import heartbeats
from apps.jobs.models import Heartbeat
from apps.jobs.tasks import heartbeat
from registry_site.celery import app


def test_the_newest_beat_counts(db):
    assert heartbeats.newest() is None
    heartbeats.beat("one:1")
    Heartbeat.objects.update(at=F("at") - timedelta(hours=1))
    heartbeats.beat("two:2")

    newest = heartbeats.newest()
    assert newest is not None
    assert timezone.now() - newest < timedelta(seconds=5)
    assert Heartbeat.objects.count() == 2


def test_beat_of_a_former_version_is_not_answered_by_an_error_and_nothing_is_recorded(db):
    """A report from the queue would come late on a busy day, and from a process that takes nothing else."""
    heartbeat(surprise=1)

    assert heartbeats.newest() is None
    assert "jobs.heartbeat" not in {entry["task"] for entry in app.conf.beat_schedule.values()}


@pytest.mark.both
def test_a_worker_has_one_row_and_is_erased_after_a_day(db):
    heartbeats.beat("one:1")
    Heartbeat.objects.update(at=F("at") - timedelta(days=2))
    heartbeats.beat("two:2")
    heartbeats.beat("two:2")

    assert list(Heartbeat.objects.values_list("worker", flat=True)) == ["two:2"]
