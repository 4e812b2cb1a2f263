import structlog
from celery import shared_task
from django.contrib.sessions.models import Session
from django.utils import timezone

from apps.accounts.access import epoch
from apps.accounts.identity.cli_login import CODE_MEMORY
from apps.accounts.models import LoginCode
from apps.blobs import store
from apps.jobs.pruning import prune_rows

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
