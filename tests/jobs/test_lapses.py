"""Workers that are killed: no attempt of the job, a bound of its own, and an error that says what happened."""

import pytest
from django.utils import timezone

from apps.jobs import claims, queue
from apps.jobs.claims import claim
from apps.jobs.models import Job, State
from tests.jobs.test_claims import LEASE, break_with, claimed

KILLED = "The worker was lost during the work: it was killed, ran out of memory, or could not reach the database."


def killed(job: Job, pass_time) -> None:
    """Claim it, and be gone: no renewal, no write-back, until the lease has run out."""
    taken = claims._take(job.pk)
    assert taken is not None
    pass_time(LEASE)


@pytest.mark.both
@pytest.mark.parametrize("is_reaped", [True, False])
def test_a_dozen_kills_are_no_attempt_and_the_job_succeeds_in_the_end(is_reaped, job, pass_time, settings):
    """A reaper takes the lease back, or the next worker finds it."""
    settings.JOB_LAPSES = 12
    for number in range(1, 13):
        killed(job, pass_time)
        if is_reaped:
            assert queue.reap() == 1
            job.refresh_from_db()
            assert (job.state, job.attempts, job.lapses, job.lease_until) == (State.QUEUED, 0, number, None)
    with claimed(job) as held:
        assert (held.attempt, held.lapses, held.exhausted) == (1, 12, False)
    job.refresh_from_db()
    assert (job.state, job.attempts, job.lapses, job.error) == (State.SUCCEEDED, 1, 12, "")


@pytest.mark.both
def test_a_job_that_kills_each_worker_ends_and_says_so(job, pass_time, settings):
    for _ in range(settings.JOB_LAPSES + 1):
        killed(job, pass_time)
    with claimed(job) as held:
        assert held.exhausted

    job.refresh_from_db()
    assert job.state == State.FAILED
    text = job.error.replace(claims.worker_name() + " ", "")
    assert text == f"Given up after {settings.JOB_LAPSES + 1} lost workers. {KILLED}"


@pytest.mark.both
def test_attempts_that_fail_between_kills_count_as_before(job, pass_time):
    for attempt in range(1, 6):
        killed(job, pass_time)
        with claimed(job) as held:
            assert (held.attempt, held.exhausted) == (attempt, False)
            break_with(ZeroDivisionError())
    with claimed(job) as held:
        assert held.exhausted

    job.refresh_from_db()
    assert (job.state, job.lapses, job.error) == (State.FAILED, 5, "ZeroDivisionError: ")


def test_the_row_says_at_once_which_worker_was_lost(job, pass_time):
    killed(job, pass_time)
    queue.reap()

    job.refresh_from_db()
    assert job.error == KILLED.replace("worker", f"worker {claims.worker_name()}", 1)


def test_a_lease_of_an_older_larder_that_counted_nothing_is_taken_back(job, pass_time, settings):
    Job.objects.filter(pk=job.pk).update(state=State.RUNNING, attempts=0, lease_until=timezone.now() - LEASE)
    assert queue.reap() == 1

    with claim(job.pk) as held:
        assert held is not None
        assert (held.attempt, held.lapses) == (1, 1)


def test_retrying_gives_all_lapses_back(job):
    Job.objects.filter(pk=job.pk).update(state=State.FAILED, lapses=30)

    queue.retry(job, None)

    assert job.lapses == 0
