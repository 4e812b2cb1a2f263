from datetime import timedelta

import structlog
from celery import shared_task
from django.contrib.sessions.models import Session
from django.utils import timezone

from apps.accounts.access import epoch
from apps.accounts.identity.cli_login import CODE_MEMORY
from apps.accounts.identity.trusted import publishers
from apps.accounts.models import LoginCode, TokenExchange, UsedIdToken
from apps.blobs import store
from apps.jobs.pruning import prune_rows

# Of refused exchanges. Accepted ones tell where releases come from, and stay.
ATTEMPT_MEMORY = timedelta(days=30)

log = structlog.get_logger("larder.accounts")


@shared_task(name="accounts.check_epoch", ignore_result=True)
def check_epoch(**_: object) -> None:
    try:
        epoch.check()
    except store.StorageUnavailable as error:
        log.warning("epoch_not_checked", error=str(error))


@shared_task(name="accounts.prune_sessions", ignore_result=True)
def prune_sessions(**_: object) -> None:
    """Delete sessions that have expired, which Django keeps for ever, and old codes of `tofu login`."""
    now = timezone.now()
    if pruned := prune_rows(Session.objects.filter(expire_date__lt=now).order_by("expire_date")):
        log.info("sessions_pruned", rows=pruned)
    prune_rows(LoginCode.objects.filter(expires_at__lt=now - CODE_MEMORY).order_by("expires_at"))


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
