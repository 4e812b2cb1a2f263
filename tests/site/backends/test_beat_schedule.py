"""Beat's own file on a disk without room."""

import logging
from contextlib import closing
from datetime import timedelta

import pytest
from celery import Celery
from celery.schedules import schedule
from kombu.utils.imports import symbol_by_name

from registry_site.backends.beat_schedule import Scheduler
from registry_site.celery import app
from registry_site.server.serving import Clock
from tests.mounts import filled, small_disk

LATER = "x" * 100_000  # needs more room than the file has


@pytest.mark.needs("mounts")
def test_beat_goes_on_while_its_file_cannot_be_written(tmp_path, caplog):
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


def test_a_beat_that_is_killed_has_written_what_it_rang(tmp_path):
    other = Celery(beat_schedule={"reap": {"task": "jobs.reap", "schedule": 10.0}}, set_as_current=False)
    file = str(tmp_path / "beat-schedule")
    with closing(Scheduler(app=other, schedule_filename=file)) as killed:
        rung = killed.schedule["reap"].last_run_at = killed.app.now() - timedelta(hours=1)
        killed.sync()
        with closing(Scheduler(app=other, schedule_filename=file)) as next_start:
            assert next_start.schedule["reap"].last_run_at == rung


def test_each_beat_has_this_schedule():
    assert Clock().service.scheduler_cls is Scheduler
    assert symbol_by_name(app.conf.beat_scheduler) is Scheduler
