"""Lease, fence, attempts: what a worker may believe about the job it has."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from apps.blobs.store import StorageUnavailable
from apps.jobs import claims, queue
from apps.jobs.claims import Claim, LostLease, Outage, claim
from apps.jobs.models import Job, State
from apps.lib.process import metrics
from tests.threads import at_once

LEASE = timedelta(seconds=31)


def guarded(held) -> None:
    with transaction.atomic():
        held.guard()


@contextmanager
def claimed(job: Job) -> Iterator[Claim]:
    """Claim, and let what a test finds wrong inside the block fail the test: claim() would note it in the row."""
    wrong: list[AssertionError] = []
    with claim(job.pk) as held:
        try:
            assert held is not None
            yield held
        except AssertionError as error:
            wrong.append(error)
            raise
    if wrong:
        raise wrong[0]


def refused(job: Job) -> bool:
    with claim(job.pk) as held:
        return held is None


def break_with(error: BaseException) -> None:
    raise error


def failing(job: Job, error: BaseException) -> Job:
    with claimed(job):
        break_with(error)
    job.refresh_from_db()
    return job


@pytest.mark.both
def test_the_first_claim_counts_for_how_long_the_job_has_waited(job):
    """By the database's clock. What is taken again has waited for other reasons."""

    def counted(what: str) -> float:
        return metrics.registry.get_sample_value(f"larder_job_wait_seconds_{what}", {"kind": job.kind}) or 0.0

    Job.objects.filter(pk=job.pk).update(created_at=timezone.now() - timedelta(seconds=90))
    count, total = counted("count"), counted("sum")
    failing(job, ValueError("a defect"))
    assert counted("count") == count + 1
    assert 90 <= counted("sum") - total < 120

    failing(job, ValueError("again"))
    assert counted("count") == count + 1


def test_the_block_ends_well_and_the_job_has_succeeded(job):
    with claimed(job) as held:
        assert (held.job_id, held.kind, held.target) == (job.pk, "test.work", 7)
        assert (held.attempt, held.fence, held.exhausted) == (1, 1, False)
        guarded(held)
        job.refresh_from_db()
        assert job.state == State.RUNNING
        assert job.worker.endswith(f":{os.getpid()}")

    job.refresh_from_db()
    assert (job.state, job.lease_until, job.error) == (State.SUCCEEDED, None, "")
    assert job.finished_at is not None


@pytest.mark.both
def test_nobody_claims_what_is_claimed_or_has_ended(job):
    with claimed(job):
        assert refused(job)
    assert refused(job)
    assert refused(Job(pk=job.pk + 1))


@pytest.mark.both
def test_of_eight_claimers_one_wins(job):
    over = threading.Barrier(8)

    def work() -> bool:
        with claim(job.pk) as held:
            over.wait()
            return held is not None

    assert at_once(*[work] * 8).count(True) == 1
    job.refresh_from_db()
    assert (job.state, job.fence, job.attempts) == (State.SUCCEEDED, 1, 1)


@pytest.mark.both
def test_a_stale_worker_loses_at_the_guard(job, pass_time):
    reached = []
    with claimed(job) as stale:
        pass_time(LEASE)
        with claimed(job) as fresh:
            assert (fresh.fence, fresh.attempt, fresh.lapses) == (2, 1, 1)
            guarded(fresh)
            with pytest.raises(LostLease):
                guarded(stale)
        reached.append(True)
        guarded(stale)
        reached.append(False)

    job.refresh_from_db()
    assert reached == [True]  # LostLease ended the block without a word
    assert (job.state, job.fence) == (State.SUCCEEDED, 2)


@pytest.mark.both
def test_a_stale_worker_that_fails_changes_nothing(job, pass_time):
    with claimed(job):
        pass_time(LEASE)
        with claimed(job):
            pass
        break_with(ZeroDivisionError())

    job.refresh_from_db()
    assert (job.state, job.error) == (State.SUCCEEDED, "")


def test_a_worker_that_overslept_may_end_what_nobody_took(job, pass_time):
    with claimed(job) as held:
        pass_time(LEASE)
        queue.reap()
        guarded(held)

    job.refresh_from_db()
    assert job.state == State.SUCCEEDED


def test_a_cancelled_job_stops_at_the_guard_which_needs_a_transaction(job):
    reached = []
    with claimed(job) as held:
        with pytest.raises(RuntimeError):
            held.guard()
        reached.append(True)
        queue.cancel(job, None)
        guarded(held)
        reached.append(False)

    job.refresh_from_db()
    assert reached == [True]
    assert (job.state, job.error) == (State.CANCELLED, "")


@pytest.mark.slow
def test_the_lease_is_renewed_while_the_work_goes_on(job, settings):
    settings.JOB_LEASE = timedelta(seconds=1)
    with claimed(job):
        time.sleep(1.6)
        assert refused(job)
        threads = [thread.name for thread in threading.enumerate()]
        assert f"lease-{job.pk}" in threads

    assert f"lease-{job.pk}" not in [thread.name for thread in threading.enumerate()]


def test_a_stale_worker_renews_no_lease_of_another(job, pass_time):
    with claimed(job) as stale:
        pass_time(LEASE)
        with claimed(job) as current:
            until = Job.objects.get(pk=job.pk).lease_until
            assert not claims._renew_once(stale)
            assert Job.objects.get(pk=job.pk).lease_until == until
            assert claims._renew_once(current)


@pytest.mark.both
def test_a_worker_that_dies_is_followed_by_another(job, settings, pass_time):
    """A dead worker leaves its claim unchanged: no renewal, no write-back."""
    Job.objects.filter(pk=job.pk).update(
        state=State.RUNNING, fence=1, attempts=1, lease_until=timezone.now() + settings.JOB_LEASE
    )
    assert refused(job)
    pass_time(LEASE)
    with claimed(job) as next_one:
        assert (next_one.fence, next_one.attempt, next_one.lapses) == (2, 1, 1)


def test_a_failure_is_noted_and_the_job_waits_for_the_reaper(job, rung):
    failing(job, ZeroDivisionError("by token lrd_r_abcdefghij of redis://me:hunter2@host/0"))

    assert (job.state, job.attempts, job.lease_until, job.not_before) == (State.QUEUED, 1, None, None)
    assert job.error == "ZeroDivisionError: by token [redacted] of redis://me:[redacted]@host/0"
    assert queue.reap() == 1


@pytest.mark.both
def test_after_five_failures_all_that_is_left_is_to_give_up(job):
    for attempt in range(1, 6):
        with claimed(job) as held:
            assert (held.attempt, held.exhausted) == (attempt, False)
            break_with(ZeroDivisionError())

    with claimed(job) as held:
        assert held.exhausted

    job.refresh_from_db()
    assert (job.state, job.error) == (State.FAILED, "ZeroDivisionError: ")


def test_giving_up_is_tried_again_until_it_succeeds(job, pass_time):
    Job.objects.filter(pk=job.pk).update(attempts=5)
    failing(job, ZeroDivisionError())
    assert job.state == State.QUEUED

    assert refused(job)
    pass_time(LEASE)
    with claimed(job) as held:
        assert held.exhausted


@pytest.mark.both
def test_no_outage_counts_and_each_in_a_row_waits_longer(job, pass_time):
    waits = []
    for outage in (Outage, StorageUnavailable, OperationalError, InterfaceError, Outage, Outage, Outage):
        failing(job, outage("away"))
        assert (job.state, job.attempts, job.rung_at) == (State.QUEUED, 0, None)
        assert job.error.endswith("away")
        assert refused(job)
        waits.append(round((job.not_before - timezone.now()).total_seconds()))
        pass_time(LEASE)

    assert waits == [2, 4, 8, 16, 30, 30, 30]
    assert job.fence == 7


def test_a_worker_that_is_told_to_stop_hands_the_job_back(job):
    with pytest.raises(SystemExit):
        failing(job, SystemExit())

    job.refresh_from_db()
    assert (job.state, job.attempts, job.lease_until) == (State.QUEUED, 0, None)
