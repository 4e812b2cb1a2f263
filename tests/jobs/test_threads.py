"""The threads of a worker that do the jobs of several kinds."""

import pytest

from apps.jobs.models import Job
from apps.jobs.threads import JobThreads

pytestmark = [pytest.mark.both, pytest.mark.django_db(transaction=True)]


def nothing(_claim, _is_ending):
    pass


def test_hundreds_of_older_jobs_of_one_kind_do_not_hide_those_of_another():
    for number in range(1, 101):
        Job.objects.create(kind="fetch", target=number)
    Job.objects.create(kind="list", target=1)
    threads = JobThreads("test", {"fetch": nothing, "list": nothing}, most=2, share=1)

    threads.wake()
    threads.finish(10)

    assert Job.objects.filter(kind="list", state="succeeded").count() == 1
    assert Job.objects.filter(kind="fetch", state="queued").count() >= 98


def test_a_job_that_another_worker_has_is_left_to_it():
    threads = JobThreads("test", {"list": nothing}, most=1, share=1)
    job = Job.objects.create(kind="list", target=1)

    assert threads.run_here(job.pk)
    assert not threads.run_here(job.pk)
