"""Whose turn it is: people before work in bulk, namespaces in turns, and a bound on what a source has queued."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone

from apps.jobs import claims, queue, slots, turns
from apps.jobs.claims import Outage, claim_next
from apps.jobs.models import Job, State
from apps.lib.process import niceness
from tests.jobs.test_claims import LEASE, break_with
from tests.rows import for_each_row

KIND, SIGNS = "test.check", "state-release"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _works(monkeypatch: pytest.MonkeyPatch, rung: list[tuple[str, int]]) -> None:
    """Both kinds are of one queue."""
    monkeypatch.setattr(claims, "works", {KIND: None, "test.other": None})
    monkeypatch.setattr(turns, "kinds_beside", lambda _kind: frozenset([KIND, "test.other"]))


def add(number: int, source: str = "", share: str = "", kind: str = KIND) -> Job:
    return queue.enqueue(kind, target=number, created_by_id=None, source=source, share=share)


def taken(job: Job) -> int:
    """Return the target of the job that a worker takes which was rung for this one, 0 for none."""
    with claim_next(job.kind, job.pk) as held:
        return held.target if held is not None else 0


BULK, MORE = ("git 1", "namespace 1"), ("git 2", "namespace 2")
BOB, ALICE = ("", "namespace 1"), ("", "namespace 2")


@pytest.mark.both
@for_each_row(
    ("asked", "order"),
    [
        ([BULK, BULK, BULK, BOB], [4, 1, 2, 3]),  # a person does not wait for an import, also of the same namespace
        ([BULK, BULK, BULK, MORE, MORE], [1, 4, 2, 5, 3]),  # two imports take turns
        ([BOB, BOB, BOB, ALICE], [1, 4, 2, 3]),  # so do the people of two namespaces
        ([BULK, BOB, MORE, ALICE, BOB], [2, 4, 5, 1, 3]),
        ([("", ""), ("", ""), ("", "")], [1, 2, 3]),  # of no namespace: in the order in which they came
    ],
)
def test_who_goes_first(asked: list[tuple[str, str]], order: list[int]):
    jobs = [add(number, source, share) for number, (source, share) in enumerate(asked, 1)]

    assert [taken(job) for job in jobs] == order


def test_a_namespace_that_comes_later_does_not_wait_for_what_another_has_queued_before():
    first = [add(number, *BULK) for number in range(1, 7)]
    assert [taken(job) for job in first[:3]] == [1, 2, 3]
    second = [add(number, *MORE) for number in range(11, 14)]

    assert [taken(job) for job in [*first[3:], *second]] == [4, 11, 5, 12, 6, 13]


def test_what_was_served_before_costs_a_namespace_nothing_once_nobody_waits():
    assert [taken(add(number, *BOB)) for number in range(1, 13)] == list(range(1, 13))
    late, later = add(41, *ALICE), add(42, *BOB)

    assert [taken(late), taken(later)] == [41, 42]


@pytest.mark.both
def test_a_source_has_eight_jobs_queued_with_what_they_lead_to(rung: list[tuple[str, int]]):
    jobs = [add(number, *BULK) for number in range(1, 21)]
    assert len(rung) == 8
    assert [add(number, *MORE).rung_at is None for number in range(31, 33)] == [False, False], "each source has its own"

    with claim_next(KIND, jobs[0].pk):
        led = queue.enqueue("test.other", target=1, created_by_id=None)
    led.refresh_from_db()

    assert (led.source, led.share, led.rung_at is None) == (*BULK, False)
    assert rungs_of("git 1") == 8, "seven, and what the first one led to"
    with claims.claim(led.pk):
        pass
    assert rungs_of("git 1") == 8
    assert Job.objects.get(target=9, kind=KIND).rung_at is not None
    assert Job.objects.get(target=10, kind=KIND).rung_at is None


def rungs_of(source: str) -> int:
    return Job.objects.rung().filter(source=source).count()


def test_what_a_persons_job_leads_to_is_that_persons():
    with claim_next(KIND, add(1, *ALICE).pk):
        led = queue.enqueue("test.other", target=1, created_by_id=None)
        bulk = queue.enqueue("test.other", target=2, created_by_id=None, source="git 7")

    assert (led.source, led.share, bulk.source) == ("", "namespace 2", "git 7")
    assert turns.running.get() is None


def test_the_child_processes_of_work_in_bulk_are_nice():
    found: list[int] = []
    for place in (BULK, ALICE):
        with claim_next(KIND, add(len(found), *place).pk):
            found.append(niceness.wanted.get())
    assert (found, niceness.wanted.get()) == ([niceness.IN_BULK, 0], 0)


def test_a_few_of_a_kind_are_waited_for_and_many_are_not():
    assert [turns.source_of("inspections", count=count) for count in (1, 8, 9)] == ["", "", "inspections"]


def test_work_in_bulk_leaves_a_slot_free_and_is_rung_for_again(settings: Any, rung: list[tuple[str, int]]):
    settings.WORKER_CONCURRENCY = 2
    bulk, more = add(1, *BULK), add(2, *BULK)
    rung.clear()
    # What is asserted inside would be an error of the job.
    with claim_next(KIND, bulk.pk):
        meanwhile = [taken(more), taken(add(3, *ALICE))]
    assert meanwhile == [0, 3], "the other slot is for people"
    assert (KIND, more.pk) in rung
    assert taken(more) == 2


def test_work_in_bulk_gives_way_while_a_person_waits_but_not_for_ever(
    settings: Any, rung: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
):
    settings.WORKER_CONCURRENCY = 3
    assert taken(add(1, *BULK)) == 1
    bulk = add(2, *BULK)
    with claim_next(KIND, add(3, *BOB).pk):
        meanwhile = taken(bulk)
        rung.clear()
    assert meanwhile == 0
    assert (KIND, bulk.pk) in rung

    monkeypatch.setattr(slots, "GIVES_WAY_SECONDS", 0.0)
    with claim_next(KIND, add(4, *BOB).pk):
        meanwhile = taken(bulk)
    assert meanwhile == 2


@pytest.mark.both
def test_a_worker_that_is_killed_in_the_middle_of_an_import_holds_nothing_up(rung: list[tuple[str, int]]):
    for number in range(1, 13):
        add(number, *BULK)
    # Dead workers leave their claims: no renewal, no write-back.
    dead = Job.objects.filter(target__lte=8)
    dead.update(state=State.RUNNING, fence=1, attempts=1, lease_until=timezone.now() + LEASE)
    assert queue.reap() == 0
    assert rungs_of("git 1") == 8

    dead.update(lease_until=F("lease_until") - 2 * LEASE)
    assert queue.reap() == 8
    assert rungs_of("git 1") == 8, "not more than before"
    while job := Job.objects.claimable().rung().in_turn().first():
        assert taken(job)
    assert set(Job.objects.values_list("state", flat=True)) == {State.SUCCEEDED}


@pytest.mark.both
def test_a_reaper_rings_for_what_waits_in_bulk_after_its_chain_was_broken(rung: list[tuple[str, int]]):
    for source in ("git 1", "git 2"):
        for number in range(20):
            Job.objects.create(kind=KIND, target=number + 100 * len(rung) + int(source[-1]) * 1000, source=source)

    assert queue.reap() == 16
    assert queue.reap() == 0
    assert (rungs_of("git 1"), rungs_of("git 2")) == (8, 8)


def test_a_store_that_is_away_is_not_asked_by_all_of_an_import():
    jobs = [add(number, *BULK) for number in range(1, 13)]
    with claim_next(KIND, jobs[0].pk):
        break_with(Outage("away"))

    assert rungs_of("git 1") == 7


def test_what_staff_retry_is_waited_for():
    job = add(1, *BULK)
    Job.objects.filter(pk=job.pk).update(state=State.FAILED)

    queue.retry(job, 5)

    assert (job.source, job.share) == ("", "namespace 1")


def test_a_list_that_is_kept_elsewhere_is_filled_up_when_work_ends(monkeypatch: pytest.MonkeyPatch):
    asked: list[int] = []
    monkeypatch.setattr(turns, "refills", {"git": asked.append})
    jobs = [add(1, *BULK), add(2, *BOB), add(3, "inspections")]
    for job in jobs:
        taken(job)
    assert asked == [1]

    def broken(_number: int) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(turns, "refills", {"git": broken})
    last = add(4, *BULK)
    assert taken(last) == 4
    last.refresh_from_db()
    assert last.state == State.SUCCEEDED, "what follows is no part of it"


@pytest.mark.both
def test_a_claim_reads_what_was_rung_for_and_not_what_waits_behind_it():
    waits = [Job(kind=KIND, target=number, source="git 1") for number in range(2000)]
    Job.objects.bulk_create(waits)
    ended = {"state": State.SUCCEEDED, "rung_at": timezone.now(), "finished_at": timezone.now()}
    Job.objects.bulk_create([Job(kind=KIND, target=number, **ended) for number in range(2000)])
    job = add(5000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as `PRAGMA optimize` and autovacuum do

    acts = (
        lambda: turns.next_of([KIND], KIND, job.pk),
        lambda: turns.next_turn(KIND, "", "namespace 1"),
        lambda: turns.room("git 1"),
        lambda: queue.ring_next(KIND),
    )
    assert [_whole(act) for act in acts] == [[]] * len(acts)


def _whole(act: Callable[[], object]) -> list[str]:
    """The plans that read the table, or all that is in one state, from end to end."""
    found: list[str] = []

    def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        with connection.cursor() as cursor:
            prefix = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
            cursor.cursor.execute(f"{prefix} {sql}", params)
            plan = " ".join(str(row) for row in cursor.cursor.fetchall())
        if "rung_at" in sql and "jobs_rung" not in plan and "jobs_job_pkey" not in plan and "PRIMARY KEY" not in plan:
            found.append(plan)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explained):
        act()
    return found


def test_postponed_work_does_not_set_the_time_for_others():
    stuck = add(1, *BOB)
    Job.objects.filter(pk=stuck.pk).update(not_before=timezone.now() + timedelta(minutes=5))
    for number in range(2, 6):
        taken(add(number, *BOB))
    jobs = [add(6, *BOB), *(add(number, *ALICE) for number in range(7, 10))]

    assert [taken(job) for job in jobs] == [6, 7, 8, 9]
