"""Delete jobs that ended more than LARDER_JOB_DAYS ago, in batches. The audit and the releases tell what they did."""

import time

import structlog
from django.conf import settings
from django.utils import timezone

from apps.jobs.models import WORKING, Job

BATCH_SIZE = 1000
MAX_SECONDS = 100.0

log = structlog.get_logger("larder.jobs")


def prune() -> int:
    before = timezone.now() - settings.JOB_LIFETIME
    # created_at has the index, and a job is created before it ends.
    old = Job.objects.exclude(state__in=WORKING).filter(created_at__lt=before, finished_at__lt=before)
    deadline, pruned = time.monotonic() + MAX_SECONDS, 0
    while time.monotonic() < deadline:
        keys = list(old.order_by("created_at", "pk").values_list("pk", flat=True)[:BATCH_SIZE])
        # Ask again: one may have been retried meanwhile.
        pruned += old.filter(pk__in=keys).delete()[0]
        if len(keys) < BATCH_SIZE:
            break
    if pruned:
        log.info("jobs_pruned", rows=pruned)
    return pruned
