import structlog
from celery import shared_task
from django.conf import settings
from django.utils import timezone

from apps.jobs.pruning import prune_rows
from apps.notify import outbox
from apps.notify.channels import channels
from apps.notify.mail import expiries, mailing

log = structlog.get_logger("larder.notify")


@shared_task(name="notify.run", ignore_result=True)
def run(**_: object) -> None:
    outbox.dispatch()
    for channel in channels():
        channel.wake()


@shared_task(name="notify.daily", ignore_result=True)
def daily(**_: object) -> None:
    expiries.warn()
    mailing.send_digests()


@shared_task(name="notify.prune", ignore_result=True)
def prune(**_: object) -> None:
    """Delete the log of what ended more than notify_days of LARDER_LIFETIMES ago."""
    before = timezone.now() - settings.NOTIFY_LIFETIME
    ended = (channel.ended_before(before) for channel in channels())
    if pruned := prune_rows(*(rows.order_by("ended_at", "pk") for rows in ended)):
        log.info("notifications_pruned", rows=pruned)
