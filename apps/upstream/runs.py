"""The threads of lock and sync runs, with what they do."""

from datetime import datetime

from apps.upstream import locking, syncing
from apps.upstream.run_threads import RunThreads

threads = RunThreads({locking.JOB: locking.work, syncing.JOB: syncing.work})


def prune() -> None:
    locking.prune()
    syncing.prune()


def start_due(*, now: datetime) -> None:
    syncing.start_due(now=now)
