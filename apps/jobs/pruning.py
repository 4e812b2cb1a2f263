"""Delete old rows in batches, every night: those of this room, and for the rooms above."""

import time
from typing import Any

import structlog
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from apps.jobs.models import WORKING, Job

BATCH_SIZE = 1000
MAX_SECONDS = 100.0  # of one run

log = structlog.get_logger("larder.jobs")


def prune_jobs() -> int:
    """Delete jobs that ended more than job_days of LARDER_LIFETIMES ago. Audit and releases tell what they did."""
    before = timezone.now() - settings.JOB_LIFETIME
    # created_at has the index, and a job is created before it ends.
    old = Job.objects.exclude(state__in=WORKING).filter(created_at__lt=before, finished_at__lt=before)
    if pruned := prune_rows(old.order_by("created_at", "pk")):
        log.info("jobs_pruned", rows=pruned)
    return pruned


def prune_rows(*kinds: QuerySet[Any]) -> int:
    """Delete the rows of these ordered querysets as far as a run has time, and return how many went."""
    deadline, pruned = time.monotonic() + MAX_SECONDS, 0
    for old in kinds:
        is_last = False
        while not is_last and time.monotonic() < deadline:
            keys = list(old.values_list("pk", flat=True)[:BATCH_SIZE])
            # Ask again: one may be in use again meanwhile, as a job that was retried.
            pruned += old.order_by().filter(pk__in=keys).delete()[0]
            is_last = len(keys) < BATCH_SIZE
    return pruned
