"""Beat's own file on a disk without room."""

import logging
from contextlib import closing
from datetime import timedelta

import pytest
from celery import Celery
from celery.schedules import schedule
from django.db.models import F
from kombu.utils.imports import symbol_by_name

from apps.jobs import heartbeats
from apps.jobs.models import Heartbeat
from registry_site.backends import beat_schedule
from registry_site.backends.beat_schedule import InWorker, Scheduler
from registry_site.celery import app
from registry_site.server.serving import Clock
from tests.mounts import filled, small_disk

LATER = "x" * 100_000  # needs more room than the file has


@pytest.mark.needs("mounts")
def test_beat_goes_on_while_its_file_cannot_be_written(db, tmp_path, caplog):
    caplog.set_level(logging.WARNING, "larder.jobs")
    other = Celery(beat_schedule={"reap": {"task": "jobs.reap", "schedule": 10.0}}, set_as_current=False)
    with small_disk(tmp_path / "disk", 4) as disk:
        scheduler = Scheduler(app=other, schedule_filename=str(disk / "beat-schedule"))
        scheduler.schedule["later"] = scheduler.Entry(name="later", task=LATER, schedule=schedule(10.0), app=other)
        with filled(disk):
            scheduler.sync()
        assert [record.msg["event"] for record in caplog.records] == ["beat_schedule_not_written"]

        scheduler.close()
        with Scheduler.persistence.open(str(disk / "beat-schedule"), writeback=False) as kept:
            assert {"reap", "later"} <= set(kept["entries"])


def test_a_beat_that_is_killed_has_written_what_it_rang(db, tmp_path):
    other = Celery(beat_schedule={"reap": {"task": "jobs.reap", "schedule": 10.0}}, set_as_current=False)
    file = str(tmp_path / "beat-schedule")
    with closing(Scheduler(app=other, schedule_filename=file)) as killed:
        rung = killed.schedule["reap"].last_run_at = killed.app.now() - timedelta(hours=1)
        killed.sync()
        with closing(Scheduler(app=other, schedule_filename=file)) as next_start:
            assert next_start.schedule["reap"].last_run_at == rung


def test_each_beat_has_this_schedule():
    assert Clock().service.scheduler_cls is InWorker
    assert symbol_by_name(app.conf.beat_scheduler) is Scheduler


@pytest.mark.both
def test_of_two_beats_the_first_rings_and_the_second_takes_over_when_it_is_silent(db, tmp_path, monkeypatch):
    rung = []
    monkeypatch.setattr(Celery, "send_task", lambda _, name, *args, **more: rung.append(name))  # noqa: ARG005
    other = Celery(beat_schedule={"reap": {"task": "jobs.reap", "schedule": 10.0}}, set_as_current=False)
    with closing(Scheduler(app=other, schedule_filename=str(tmp_path / "beat-schedule"))) as scheduler:

        def due(name):
            monkeypatch.setattr(beat_schedule, "worker_name", lambda: name)
            rung.clear()
            scheduler.apply_entry(scheduler.schedule["reap"])
            return list(rung)

        assert (due("one:1"), due("two:2"), due("one:1")) == (["jobs.reap"], [], ["jobs.reap"])
        Heartbeat.objects.update(at=F("at") - heartbeats.BEAT_LEASE)
        assert due("two:2") == ["jobs.reap"]
        assert due("three:3") == []
        heartbeats.end_beat("two:2")
        assert due("three:3") == ["jobs.reap"]
