"""Every night what ended long ago goes: audit rows, jobs and sessions, in batches."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone

from apps.accounts.tasks import prune_sessions
from apps.audit import chain
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.audit.recorder import record
from apps.audit.tasks import prune as prune_audit
from apps.jobs import pruning
from apps.jobs.models import Job, State
from apps.jobs.tasks import prune as prune_jobs
from registry_site.celery import app
from tests.audit import tampering


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    for module in (chain, pruning):
        monkeypatch.setattr(module, "BATCH_SIZE", 3)


def events(count, days):
    for number in range(count):
        tampering.age([record(Kind.USER_SIGNED_IN, actor_id=1, subject=f"user/{number}")], days=days)


def jobs(state, days, target):
    at = timezone.now() - timedelta(days=days)
    job = Job.objects.create(kind="publish-module", target=target, state=state, finished_at=at)
    Job.objects.filter(pk=job.pk).update(created_at=at)
    return job


@pytest.mark.both
def test_audit_rows_go_after_their_days_and_one_row_says_so(db):
    events(7, days=401 if connection.vendor == "sqlite" else 432)  # PostgreSQL drops whole months
    events(2, days=399)
    prune_audit()

    assert AuditEvent.objects.filter(kind=Kind.USER_SIGNED_IN).count() == 2
    said = AuditEvent.objects.get(kind=Kind.AUDIT_PRUNED)
    assert (said.actor_id, said.detail["rows"]) == (None, 7)
    prune_audit()
    assert AuditEvent.objects.count() == 3, "nothing to prune, nothing to say"


def test_audit_rows_have_no_other_way_out(db):
    events(1, days=500)

    with pytest.raises(TypeError, match="append-only"):
        AuditEvent.objects.filter(at__lt=timezone.now()).delete()


def test_jobs_that_ended_go_after_their_days(db, settings):
    settings.JOB_LIFETIME = timedelta(days=10)
    for number, state in enumerate([State.SUCCEEDED, State.FAILED, State.CANCELLED, State.SUCCEEDED]):
        jobs(state, 11, number)
    kept = [jobs(State.SUCCEEDED, 9, 10), jobs(State.QUEUED, 99, 11), jobs(State.RUNNING, 99, 12)]
    prune_jobs()

    assert sorted(Job.objects.values_list("pk", flat=True)) == [job.pk for job in kept]


@pytest.mark.both
def test_sessions_that_expired_go_and_others_stay_signed_in(bob):
    browsers = [Client() for _ in range(5)]
    for browser in browsers:
        browser.force_login(bob)
    stays = Session.objects.order_by("pk")[0]
    Session.objects.exclude(pk=stays.pk).update(expire_date=timezone.now() - timedelta(seconds=1))
    prune_sessions()

    assert [one.pk for one in Session.objects.all()] == [stays.pk]
    assert sum(browser.get("/tokens").status_code == 200 for browser in browsers) == 1


def test_the_clock_knows_them():
    every_night = {"audit.prune", "jobs.prune", "accounts.prune_sessions"}

    assert every_night <= {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert every_night <= set(app.tasks)
