import structlog
from celery import shared_task

from apps.accounts.access import epoch
from apps.accounts.identity import cli_login, sessions
from apps.blobs import store

log = structlog.get_logger("larder.accounts")


@shared_task(name="accounts.check_epoch", ignore_result=True)
def check_epoch(**_: object) -> None:
    try:
        epoch.check()
    except store.StorageUnavailable as error:
        log.warning("epoch_not_checked", error=str(error))


@shared_task(name="accounts.prune_sessions", ignore_result=True)
def prune_sessions(**_: object) -> None:
    sessions.prune()
    cli_login.prune()
