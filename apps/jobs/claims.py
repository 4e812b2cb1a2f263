"""Claim a job: a thread renews the lease during the work, and the fence stops a stale worker (D4)."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from threading import Event, Thread
from typing import cast

import structlog
from celery import shared_task
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import F, QuerySet, TextField, Value
from django.db.models.functions import Concat, Now

from apps.blobs.store import StorageUnavailable
from apps.jobs import database_availability, queue, queues, slots, turns
from apps.jobs.models import WORKING, Job, State, claimed, lost_worker
from apps.lib.process import metrics, niceness, traces
from apps.lib.text.redaction import redact

MAX_BACKOFF_SECONDS = 30  # between two tries during an outage
WRITE_BACK_TRIES = 5
MAX_LOOKS = 20  # for a job that no other worker takes first
_ERROR_MAX = 1000

log = structlog.get_logger("larder.jobs")


class Outage(Exception):
    """The work needs something that is away. The job waits, and the attempt does not count."""


class LostLease(Exception):
    """Another worker has the job, or it was cancelled: stop and write nothing."""


# AWAY: the database has gone, restarts, or is locked for too long.
OUTAGES = (Outage, StorageUnavailable, *database_availability.AWAY)


@dataclass(frozen=True, slots=True)
class Claim:
    """This worker's claim on a job. `lapses`: how many workers were lost before. `exhausted`: no attempts are left, or
    too many were lost, so the work must record its failure.
    """

    job_id: int
    kind: str
    target: int
    attempt: int
    fence: int
    exhausted: bool
    lapses: int = 0
    source: str = ""
    share: str = ""

    def guard(self) -> None:
        """Lock the job row until the caller's transaction ends, and renew the lease. Raises LostLease.

        An UPDATE, because SQLite has no SELECT FOR UPDATE.
        """
        if not connection.in_atomic_block:
            raise RuntimeError("guard() locks for the length of a transaction: there is none")
        if not _mine(self).update(state=State.RUNNING, lease_until=Now() + settings.JOB_LEASE):
            raise LostLease(f"job {self.job_id} is no longer held with fence {self.fence}")


@contextmanager
def claim(job_id: int) -> Iterator[Claim | None]:
    """Yield the claim, or None if another worker has the job or it has ended. Errors of the block end here.

    The job row records the outcome and the log the traceback; Celery has nothing to decide.
    """
    with _held(_take(job_id)) as own:
        yield own


@contextmanager
def claim_next(kind: str, job_id: int) -> Iterator[Claim | None]:
    """Claim, like `claim`, the job whose turn it is: this one, or another that its queue was rung for.

    Work in bulk leaves one slot of the worker free. None also if it must wait: the job that ends next rings again.
    """
    job = _take_next(kind, job_id)
    try:
        with _held(job) as own:
            yield own
    finally:
        if job is not None:
            slots.own.give_back(in_bulk=bool(job.source))
            _quietly(partial(queue.ring_next, kind))


@contextmanager
def _held(job: Job | None) -> Iterator[Claim | None]:
    if job is None:
        yield None
        return
    own = Claim(
        job_id=job.pk,
        kind=job.kind,
        target=job.target,
        attempt=job.attempts,
        fence=job.fence,
        exhausted=job.attempts > settings.JOB_ATTEMPTS or job.is_given_up,
        lapses=job.lapses,
        source=job.source,
        share=job.share,
    )
    led = turns.running.set(turns.Running(own.source, own.share))
    usual = niceness.wanted.set(niceness.IN_BULK if own.source else 0)
    traces.note(job=job.pk, attempt=job.attempts, request_id=job.request_id)
    with structlog.contextvars.bound_contextvars(request_id=job.request_id, job_id=job.pk, attempt=job.attempts):
        try:
            with _renewing(own):
                yield own
        except LostLease:
            _count_lost()
        except OUTAGES as error:
            log.warning("outage", error=_text_of(error))
            _count_end(own, "outage")
            _write_back(own, _postponed(own, error))
        except Exception as error:
            log.exception("attempt_failed")
            _count_end(own, "error")
            _write_back(own, _failed_once(own, error))
        except BaseException as error:
            # The worker must stop, which is not the job's fault.
            _write_back(own, _postponed(own, error))
            raise
        else:
            _count_end(own, "given_up" if own.exhausted else "done")
            _write_back(own, _ended(own))
            _quietly(partial(_go_on, own))
        finally:
            niceness.wanted.reset(usual)
            turns.running.reset(led)


def _go_on(own: Claim) -> None:
    """Have the next of its source follow. A reaper and the regular looks of each room do so too, some seconds later.

    Workers that sign ring for jobs alone: they may not read the other rooms' lists.
    """
    if not own.source:
        return
    queue.go_on(own.source)
    word, _, number = own.source.partition(" ")
    if word in turns.refills and queues.queue_of(own.kind) != queues.SIGN:
        turns.refills[word](int(number))


def _quietly(act: Callable[[], object]) -> None:
    """Run work that follows an ended job, so that its failure does not look like the job's."""
    try:
        act()
    except database_availability.AWAY as error:
        log.warning("next_not_rung", error=type(error).__name__)
    except Exception:
        log.exception("next_not_rung")


works: dict[str, Callable[[Claim], object]] = {}  # by the kind of the job


def task(kind: str, work: Callable[[Claim], object]) -> Callable[..., None]:
    """The Celery task of a kind of job. It takes further arguments: a newer Larder may send them.

    It does the work of the job whose turn it is, which may be of another kind.
    """
    works[kind] = work

    @shared_task(name=kind)
    def work_on(*, job_id: int, **_: object) -> None:
        with claim_next(kind, job_id) as held:
            if held is not None:
                works[held.kind](held)

    return cast("Callable[..., None]", work_on)


@contextmanager
def _renewing(own: Claim) -> Iterator[None]:
    """Renew the lease from a thread while the block runs. Once it is lost, the block's next guard raises."""
    over = Event()
    thread = Thread(target=_renew, args=(own, over), name=f"lease-{own.job_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _renew(own: Claim, over: Event) -> None:
    # At most a third of the lease, so that two renewals may fail.
    pause = min(settings.JOB_RENEWAL, settings.JOB_LEASE / 3).total_seconds()
    try:
        while not over.wait(pause):
            if not _renew_once(own):
                return
            connection.close_if_unusable_or_obsolete()  # a pooled one goes back until the next round
    finally:
        connection.close()  # this thread's own


def _renew_once(own: Claim) -> bool:
    try:
        return bool(_mine(own).filter(state=State.RUNNING).update(lease_until=Now() + settings.JOB_LEASE))
    except (DatabaseError, InterfaceError) as error:
        # Locked by a guard, or away: try again next round, with a fresh connection.
        log.warning("lease_not_renewed", job_id=own.job_id, error=type(error).__name__)
        connection.close()
        return True


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"[:120]


def _take_next(kind: str, job_id: int) -> Job | None:
    for _ in range(MAX_LOOKS):
        chosen = turns.next_of(works, kind, job_id)
        if chosen is None or not slots.own.take(in_bulk=bool(chosen.source)):
            return None
        if job := _take(chosen.pk):
            return job
        # Another worker was faster.
        slots.own.give_back(in_bulk=bool(chosen.source))
    return None


def _take(job_id: int) -> Job | None:
    # Two workers may wake for one job; the row count of one conditional UPDATE decides. The transaction locks the row
    # until it is read, so the numbers are those of this claim. All times are the database's.
    with transaction.atomic(durable=True):
        won = (
            Job.objects.claimable()
            .filter(pk=job_id)
            .update(
                state=State.RUNNING,
                **claimed(Now() + settings.JOB_LEASE),
                error=lost_worker(),  # of another one's lease, which no reaper took back before
                fence=F("fence") + 1,
                not_before=None,
                worker=worker_name(),
            )
        )
        job = Job.objects.get(pk=job_id) if won else None
    if job is not None and job.fence == 1 and job.lease_until is not None:
        # The first claim: what is taken again has waited for other reasons. The database's clock says when.
        waited = job.lease_until - settings.JOB_LEASE - job.created_at
        metrics.job_wait.labels(job.kind).observe(max(0.0, waited.total_seconds()))
    return job


def _mine(own: Claim) -> QuerySet[Job]:
    return Job.objects.filter(pk=own.job_id, fence=own.fence, state__in=WORKING)


def _ended(own: Claim) -> dict[str, object]:
    if own.exhausted:
        lost = f"Given up after {own.lapses} lost workers. " if own.lapses > settings.JOB_LAPSES else ""
        error = Concat(Value(lost), F("error"), output_field=TextField())
        return {"state": State.FAILED, "lease_until": None, "finished_at": Now(), "error": error}
    return {"state": State.SUCCEEDED, "lease_until": None, "finished_at": Now(), "error": ""}


def _failed_once(own: Claim, error: BaseException) -> dict[str, object]:
    """Requeue, without rung_at so that the next reaper rings. An exhausted job retries to record its failure."""
    return {
        "state": State.QUEUED,
        "lease_until": None,
        "rung_at": None,
        "not_before": Now() + timedelta(seconds=MAX_BACKOFF_SECONDS) if own.exhausted else None,
        "error": _text_of(error),
    }


def _postponed(own: Claim, error: BaseException) -> dict[str, object]:
    """Requeue without counting the attempt, after 2, 4, 8 … 30 s. Every claim raises the fence."""
    outages = own.fence - own.attempt + 1
    pause = timedelta(seconds=min(2 ** min(outages, 5), MAX_BACKOFF_SECONDS))
    return {
        "state": State.QUEUED,
        "attempts": own.attempt - 1,
        "lease_until": None,
        "rung_at": None,
        "not_before": Now() + pause,
        "error": _text_of(error),
    }


def _write_back(own: Claim, changes: dict[str, object]) -> None:
    """Record the outcome if the fence is still ours. If the database stays away, the lease lapses."""
    for left in reversed(range(WRITE_BACK_TRIES)):
        try:
            database_availability.release_connection()
            if not _mine(own).update(**changes):
                _count_lost()
        except database_availability.AWAY:
            if not left:
                log.exception("outcome_lost")
                return
            time.sleep(1)
        else:
            return


def _count_end(own: Claim, outcome: str) -> None:
    metrics.job_ends.labels(own.kind, outcome).inc()
    traces.note(outcome=outcome)


def _count_lost() -> None:
    log.warning("lease_lost")
    metrics.lease_losses.labels("taken").inc()


def _text_of(error: BaseException) -> str:
    """Return one redacted line for the operator."""
    return redact(f"{type(error).__name__}: {error}")[:_ERROR_MAX]
