"""Enqueueing, ringing, reaping; retry and cancel."""

import socket
import threading
from datetime import timedelta

import pytest
import structlog
from django.db import IntegrityError, transaction

from apps.audit.models import AuditEvent
from apps.jobs import queue
from apps.jobs.claims import claim
from apps.jobs.models import Job, State
from apps.jobs.tasks import reap
from apps.lib.errors import Conflict
from tests.jobs.conftest import becomes_the_broker
from tests.threads import at_once

HALF_A_MINUTE = timedelta(seconds=31)


@pytest.mark.both
def test_it_rings_once_the_row_is_committed_and_never_for_one_that_is_rolled_back(transactional_db, rung):
    with transaction.atomic():
        queue.enqueue("test.work", target=7, created_by_id=None)
        transaction.set_rollback(True)
    assert not Job.objects.exists()
    assert rung == []

    with transaction.atomic():
        job = queue.enqueue("test.work", target=7, created_by_id=3)
        assert rung == []
    assert rung == [("test.work", job.pk)]
    assert (job.state, job.target, job.created_by_id, job.attempts) == (State.QUEUED, 7, 3, 0)


def test_the_request_id_goes_along(transactional_db, rung):
    with structlog.contextvars.bound_contextvars(request_id="r-1"):
        job = queue.enqueue("test.work", target=7, created_by_id=None)

    with claim(job.pk):
        context = structlog.contextvars.get_contextvars()
    assert (context["request_id"], context["job_id"], context["attempt"]) == ("r-1", job.pk, 1)
    assert "job_id" not in structlog.contextvars.get_contextvars()


@pytest.mark.both
def test_a_target_has_one_job_of_a_kind_at_a_time(job):
    with pytest.raises(IntegrityError):
        queue.enqueue("test.work", target=7, created_by_id=None)
    assert queue.enqueue("test.other", target=7, created_by_id=None).pk != job.pk


@pytest.mark.slow
def test_a_lost_ring_is_rung_again_by_the_reaper(transactional_db, broker_away):
    job = queue.enqueue("test.work", target=7, created_by_id=None)
    assert queue.reap() == 0  # still away, and nobody minds
    job.refresh_from_db()
    assert job.rung_at is None

    for _ in becomes_the_broker("memory://"):
        assert queue.reap() == 1
        assert queue.reap() == 0


@pytest.mark.both
def test_a_job_that_nobody_claimed_is_rung_again_after_half_a_minute_and_none_that_has_ended(job, rung, pass_time):
    assert queue.reap() == 0, "it was rung for"
    pass_time(HALF_A_MINUTE)
    reap()
    reap()
    assert rung == [("test.work", job.pk)] * 2

    with claim(job.pk):
        pass
    pass_time(HALF_A_MINUTE)
    assert queue.reap() == 0


def test_a_lapsed_lease_is_taken_back_and_rung_for(job, rung, pass_time):
    with claim(job.pk):
        pass_time(HALF_A_MINUTE)
        reaped = queue.reap()
        job.refresh_from_db()
        again = queue.reap()

    assert (reaped, again) == (1, 0)
    assert (job.state, job.lease_until) == (State.QUEUED, None)


@pytest.mark.both
def test_two_reapers_ring_once(job, rung, pass_time):
    pass_time(HALF_A_MINUTE)
    at_once(*[queue.reap] * 4)

    assert len(rung) == 2  # enqueue's own, and one


@pytest.mark.slow
def test_a_broker_that_hangs_is_not_waited_for(transactional_db):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        for _ in becomes_the_broker(f"redis://127.0.0.1:{silent.getsockname()[1]}/0"):
            job = queue.enqueue("test.work", target=7, created_by_id=None)
            # Its caller went on; the bell still waits for the broker, for several time-outs of its socket.
            assert f"ring-{job.pk}" in {thread.name for thread in threading.enumerate()}

    job.refresh_from_db()
    assert (job.state, job.rung_at) == (State.QUEUED, None)


def test_cancelling_ends_it_and_is_audited(job):
    queue.cancel(job, 5)

    assert (job.state, job.finished_at is not None) == (State.CANCELLED, True)
    event = AuditEvent.objects.get()
    assert (event.kind, event.actor_id, event.subject) == ("operation:job:cancelled", 5, "test.work #7")
    with pytest.raises(Conflict):
        queue.cancel(job, 5)


def test_retrying_gives_all_attempts_back_and_rings_and_only_what_failed_can_be(job, rung):
    for state in (State.QUEUED, State.RUNNING, State.SUCCEEDED):
        Job.objects.filter(pk=job.pk).update(state=state)
        with pytest.raises(Conflict):
            queue.retry(job, 5)
    Job.objects.filter(pk=job.pk).update(state=State.FAILED, attempts=6, fence=6)

    queue.retry(job, 5)

    assert (job.state, job.attempts, job.fence) == (State.QUEUED, 0, 6)
    assert len(rung) == 2
    assert AuditEvent.objects.get().kind == "operation:job:retried"


@pytest.mark.both
def test_retrying_is_refused_while_another_one_works(job, rung):
    Job.objects.filter(pk=job.pk).update(state=State.FAILED)
    queue.enqueue("test.work", target=7, created_by_id=None)

    with pytest.raises(Conflict, match="already"):
        queue.retry(job, 5)
    assert not AuditEvent.objects.exists()
