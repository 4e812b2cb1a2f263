"""The threads of a worker that do the jobs of several kinds."""

import threading
from typing import Any

import pytest
from django.utils import timezone

from apps.jobs.models import Job
from apps.jobs.threads import AccountThreads, JobThreads
from tests.site.processes import eventually

pytestmark = [pytest.mark.both, pytest.mark.django_db(transaction=True)]


def waiting(**columns: Any) -> Job:
    return Job.objects.create(rung_at=timezone.now(), **columns)


def nothing(_claim, _is_ending):
    pass


def test_hundreds_of_older_jobs_of_one_kind_do_not_hide_those_of_another():
    for number in range(1, 101):
        waiting(kind="fetch", target=number)
    waiting(kind="list", target=1)
    threads = JobThreads("test", {"fetch": nothing, "list": nothing}, most=2, share=1)

    threads.wake()
    threads.finish(10)

    assert Job.objects.filter(kind="list", state="succeeded").count() == 1
    assert Job.objects.filter(kind="fetch", state="queued").count() >= 98


def test_a_job_that_another_worker_has_is_left_to_it():
    threads = JobThreads("test", {"list": nothing}, most=1, share=1)
    job = waiting(kind="list", target=1)

    assert threads.run_here(job.pk)
    assert not threads.run_here(job.pk)


def test_an_account_whose_work_hangs_keeps_one_thread_and_others_get_their_turn():
    is_over, begun, done = threading.Event(), threading.Event(), threading.Event()

    def scan(claim, _is_ending):
        if claim.target <= 100:
            begun.set()
            is_over.wait(30)
        else:
            done.set()

    for number in range(1, 101):
        waiting(kind="scan", target=number, created_by_id=1)
    waiting(kind="scan", target=101, created_by_id=2)
    threads = AccountThreads("test", {"scan": scan}, most=4)
    try:
        threads.wake()
        threads.wake()
        assert done.wait(10)
        assert begun.wait(10)
        threads.wake()
        eventually(lambda: threads.busy() == 1, seconds=10, what="the end of the other account's work")
        threads.wake()
        assert threads.busy() == 1
    finally:
        threads.finish(0)
        is_over.set()
        threads.finish(10)


def test_an_import_leaves_threads_for_what_somebody_waits_for():
    is_over, begun = threading.Event(), []

    def fetch(claim, _is_ending):
        begun.append(claim.target)
        is_over.wait(30)

    for number in range(1, 21):
        waiting(kind="fetch", target=number, source="git 1", turn=number)
    waiting(kind="fetch", target=101, turn=999)
    threads = JobThreads("test", {"fetch": fetch}, most=8, share=4)
    try:
        threads.wake()
        eventually(lambda: len(begun) == 2, seconds=10, what="one of the import, and the other one")
        assert sorted(begun) == [1, 101]
    finally:
        is_over.set()
        threads.finish(10)
