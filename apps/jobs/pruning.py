"""Jobs that ended longer ago than LARDER_JOB_DAYS go, in batches. What they did is in the audit and on the releases."""

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
    # The date of creation has the index; whoever ended then was created before.
    old = Job.objects.exclude(state__in=WORKING).filter(created_at__lt=before, finished_at__lt=before)
    deadline, pruned = time.monotonic() + MAX_SECONDS, 0
    while time.monotonic() < deadline:
        keys = list(old.order_by("created_at", "pk").values_list("pk", flat=True)[:BATCH_SIZE])
        # The condition once more: somebody may have just retried one.
        pruned += old.filter(pk__in=keys).delete()[0]
        if len(keys) < BATCH_SIZE:
            break
    if pruned:
        log.info("jobs_pruned", rows=pruned)
    return pruned
