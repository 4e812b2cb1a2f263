"""Delete the log of what ended more than LARDER_NOTIFY_DAYS ago, in batches."""

import time
from typing import Any

import structlog
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from apps.notify.models import Delivery, Letter, LetterState, State

BATCH_SIZE = 1000
MAX_SECONDS = 100.0

log = structlog.get_logger("larder.notify")


def prune() -> int:
    before = timezone.now() - settings.NOTIFY_LIFETIME
    deliveries = Delivery.objects.exclude(state=State.WAITING).filter(ended_at__lt=before)
    mails = Letter.objects.exclude(state=LetterState.WAITING).filter(ended_at__lt=before)
    deadline = time.monotonic() + MAX_SECONDS
    pruned = _prune(deliveries, deadline) + _prune(mails, deadline)
    if pruned:
        log.info("notifications_pruned", rows=pruned)
    return pruned


def _prune(old: QuerySet[Any], deadline: float) -> int:
    pruned = 0
    while time.monotonic() < deadline:
        keys = list(old.order_by("ended_at", "pk").values_list("pk", flat=True)[:BATCH_SIZE])
        # Ask again: one may have been sent again meanwhile.
        pruned += old.filter(pk__in=keys).delete()[0]
        if len(keys) < BATCH_SIZE:
            break
    return pruned
