"""Delete providers that a client asked for and no registry has: anyone can make up names."""

from datetime import timedelta

import structlog
from django.utils import timezone

from apps.contrib.mirror.models import UpstreamProvider
from apps.jobs.pruning import prune_rows

# Longer than any job waits.
LIFETIME = timedelta(days=1)

log = structlog.get_logger("larder.upstream")


def prune_unknown() -> int:
    """Delete those of which no list was ever read, and that were not tried lately; return how many."""
    before = timezone.now() - LIFETIME
    unknown = UpstreamProvider.objects.filter(listed_at=None, created_at__lt=before).exclude(tried_at__gte=before)
    pruned = prune_rows(unknown.order_by("created_at", "pk"))
    if pruned:
        log.info("upstream_providers_pruned", rows=pruned)
    return pruned
