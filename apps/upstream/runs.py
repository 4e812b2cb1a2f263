"""The threads of lock and sync runs, with what they do."""

from apps.upstream import locking, syncing
from apps.upstream.run_threads import RunThreads

threads = RunThreads({locking.JOB: locking.work, syncing.JOB: syncing.work})
