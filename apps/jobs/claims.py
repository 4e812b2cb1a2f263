"""Claiming a job: a lease that a thread renews during the work, and a fence that a stale worker runs into (D4)."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from apps.blobs.store import StorageUnavailable
from apps.jobs import database_availability
from apps.jobs.leases import renewed
from apps.jobs.models import WORKING, Job, State
from apps.lib.redaction import redact

MAX_BACKOFF_SECONDS = 30  # seconds between two tries while something is away
WRITE_BACK_TRIES = 5
_ERROR_MAX = 1000

log = structlog.get_logger("larder.jobs")


class Outage(Exception):
    """Something that the work needs is away. The job waits, and the attempt does not count."""


class LostLease(Exception):
    """Somebody else has the job now (or it was cancelled): stop, write nothing."""


# The database raises these when it goes away, restarts, or is locked for too long.
OUTAGES = (Outage, StorageUnavailable, *database_availability.AWAY)


@dataclass(frozen=True, slots=True)
class Claim:
    """This worker's hold on a job. `exhausted`: the attempts have run out, and all that is left is to give up."""

    job_id: int
    kind: str
    target: int
    attempt: int
    fence: int
    exhausted: bool

    def guard(self) -> None:
        """Lock the job row until the caller's transaction ends. Raises LostLease where the fence has moved on.

        An UPDATE and not SELECT FOR UPDATE: SQLite has none, and renewing is right at this moment anyway.
        """
        if not connection.in_atomic_block:
            raise RuntimeError("guard() locks for the length of a transaction: there is none")
        if not _mine(self).update(state=State.RUNNING, lease_until=Now() + settings.JOB_LEASE):
            raise LostLease(f"job {self.job_id} is no longer held with fence {self.fence}")


@contextmanager
def claim(job_id: int) -> Iterator[Claim | None]:
    """Yield the claim, or None where somebody else has the job or it has ended. Errors of the block end here.

    The job row says how it went, and the log has the traceback: Celery has nothing to decide, so it hears nothing.
    """
    job = _take(job_id)
    if job is None:
        yield None
        return
    held = Claim(
        job_id=job.pk,
        kind=job.kind,
        target=job.target,
        attempt=job.attempts,
        fence=job.fence,
        exhausted=job.attempts > settings.JOB_ATTEMPTS,
    )
    with structlog.contextvars.bound_contextvars(request_id=job.request_id, job_id=job.pk, attempt=job.attempts):
        try:
            with renewed(held.job_id, fence=held.fence):
                yield held
        except LostLease:
            log.warning("lease_lost")
        except OUTAGES as error:
            log.warning("outage", error=_text_of(error))
            _write_back(held, _postponed(held, error))
        except Exception as error:
            log.exception("attempt_failed")
            _write_back(held, _failed_once(held, error))
        except BaseException as error:
            # The worker is told to stop: that is not the fault of the job either.
            _write_back(held, _postponed(held, error))
            raise
        else:
            _write_back(held, _ended(held))


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"[:120]


def _take(job_id: int) -> Job | None:
    # Two workers may wake for the same job; the row count of one conditional UPDATE says who got it. The transaction
    # keeps the row locked until it is read: the numbers are those of this claim. By the database's clock throughout.
    with transaction.atomic(durable=True):
        won = (
            Job.objects.claimable()
            .filter(pk=job_id)
            .update(
                state=State.RUNNING,
                attempts=F("attempts") + 1,
                fence=F("fence") + 1,
                lease_until=Now() + settings.JOB_LEASE,
                not_before=None,
                worker=worker_name(),
            )
        )
        return Job.objects.get(pk=job_id) if won else None


def _mine(held: Claim) -> QuerySet[Job]:
    return Job.objects.filter(pk=held.job_id, fence=held.fence, state__in=WORKING)


def _ended(held: Claim) -> dict[str, object]:
    if held.exhausted:
        return {"state": State.FAILED, "lease_until": None, "finished_at": Now()}
    return {"state": State.SUCCEEDED, "lease_until": None, "finished_at": Now(), "error": ""}


def _failed_once(held: Claim, error: BaseException) -> dict[str, object]:
    """Back to the queue; rung_at is empty so that the next reaper rings. Giving up is tried again until it succeeds."""
    return {
        "state": State.QUEUED,
        "lease_until": None,
        "rung_at": None,
        "not_before": Now() + timedelta(seconds=MAX_BACKOFF_SECONDS) if held.exhausted else None,
        "error": _text_of(error),
    }


def _postponed(held: Claim, error: BaseException) -> dict[str, object]:
    """Back to the queue without the attempt, after 2, 4, 8 … 30 s: fences count all claims, attempts only own ones."""
    met = held.fence - held.attempt + 1
    pause = timedelta(seconds=min(2 ** min(met, 5), MAX_BACKOFF_SECONDS))
    return {
        "state": State.QUEUED,
        "attempts": held.attempt - 1,
        "lease_until": None,
        "rung_at": None,
        "not_before": Now() + pause,
        "error": _text_of(error),
    }


def _write_back(held: Claim, changes: dict[str, object]) -> None:
    """Note how it went, where the fence is still ours. Where the database stays away the lease lapses by itself."""
    for left in reversed(range(WRITE_BACK_TRIES)):
        try:
            database_availability.look_again()
            if not _mine(held).update(**changes):
                log.warning("lease_lost")
        except database_availability.AWAY:
            if not left:
                log.exception("outcome_lost")
                return
            time.sleep(1)
        else:
            return


def _text_of(error: BaseException) -> str:
    """One line for the operator, without what may be a secret."""
    return redact(f"{type(error).__name__}: {error}")[:_ERROR_MAX]
