from datetime import timedelta

import structlog
from celery import shared_task
from django.utils import timezone

from apps.accounts.models import TokenExchange, UsedIdToken
from apps.contrib.trusted import publishers
from apps.jobs.pruning import prune_rows

# Of refused exchanges. Accepted ones tell where releases come from, and stay.
ATTEMPT_MEMORY = timedelta(days=30)

log = structlog.get_logger("larder.accounts")


# Of the name that it has in the schedules and queues of older releases.
@shared_task(name="accounts.prune_exchanges", ignore_result=True)
def prune_exchanges(**_: object) -> None:
    """End trusted publishers that expired unused; delete old refused exchanges, and the memory of old id tokens."""
    now = timezone.now()
    if ended := publishers.end_unused():
        log.info("trusted_publishers_expired", rows=ended)
    prune_rows(
        UsedIdToken.objects.filter(expires_at__lt=now).order_by("expires_at"),
        TokenExchange.objects.filter(at__lt=now - ATTEMPT_MEMORY).exclude(refused="").order_by("at", "pk"),
    )
