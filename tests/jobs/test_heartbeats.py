from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from apps.jobs import heartbeats
from apps.jobs.models import Heartbeat
from apps.jobs.tasks import heartbeat


def test_the_newest_beat_counts(db):
    assert heartbeats.newest() is None
    heartbeats.beat("one:1")
    Heartbeat.objects.update(at=F("at") - timedelta(hours=1))
    heartbeat()

    newest = heartbeats.newest()
    assert newest is not None
    assert timezone.now() - newest < timedelta(seconds=5)
    assert Heartbeat.objects.count() == 2


@pytest.mark.both
def test_a_worker_has_one_row_and_is_erased_after_a_day(db):
    heartbeats.beat("one:1")
    Heartbeat.objects.update(at=F("at") - timedelta(days=2))
    heartbeats.beat("two:2")
    heartbeats.beat("two:2")

    assert list(Heartbeat.objects.values_list("worker", flat=True)) == ["two:2"]
