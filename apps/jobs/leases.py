"""Renew a lease from a thread while the work runs (D4)."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.models.functions import Now

from apps.jobs.models import Job, State

log = structlog.get_logger("larder.jobs")


@contextmanager
def renewed(job_id: int, *, fence: int) -> Iterator[None]:
    """Renew the lease while the block runs. Once it is lost, renewing stops, and the block's next guard raises."""
    over = Event()
    thread = Thread(target=_renew, args=(job_id, fence, over), name=f"lease-{job_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _renew(job_id: int, fence: int, over: Event) -> None:
    # At most a third of the lease, so that two renewals may fail.
    pause = min(settings.JOB_RENEWAL, settings.JOB_LEASE / 3).total_seconds()
    try:
        while not over.wait(pause):
            if not _renew_once(job_id, fence):
                return
            connection.close_if_unusable_or_obsolete()  # a pool's goes back until the next round
    finally:
        connection.close()  # this thread's own


def _renew_once(job_id: int, fence: int) -> bool:
    try:
        own = Job.objects.filter(pk=job_id, fence=fence, state=State.RUNNING)
        return bool(own.update(lease_until=Now() + settings.JOB_LEASE))
    except (DatabaseError, InterfaceError) as error:
        # Locked by a guard, or away: try again next round, with a fresh connection.
        log.warning("lease_not_renewed", job_id=job_id, error=type(error).__name__)
        connection.close()
        return True
