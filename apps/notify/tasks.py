import structlog
from celery import shared_task
from django.conf import settings
from django.utils import timezone

from apps.jobs.pruning import prune_rows
from apps.notify import outbox, sending
from apps.notify.mail import expiries, mailing
from apps.notify.models import Delivery, Letter, LetterState, State

log = structlog.get_logger("larder.notify")


@shared_task(name="notify.run", ignore_result=True)
def run(**_: object) -> None:
    outbox.dispatch()
    sending.sender.wake()
    sending.mailer.wake()


@shared_task(name="notify.daily", ignore_result=True)
def daily(**_: object) -> None:
    expiries.warn()
    mailing.send_digests()


@shared_task(name="notify.prune", ignore_result=True)
def prune(**_: object) -> None:
    """Delete the log of what ended more than notify_days of LARDER_LIFETIMES ago."""
    before = timezone.now() - settings.NOTIFY_LIFETIME
    deliveries = Delivery.objects.exclude(state=State.WAITING).filter(ended_at__lt=before)
    mails = Letter.objects.exclude(state=LetterState.WAITING).filter(ended_at__lt=before)
    if pruned := prune_rows(deliveries.order_by("ended_at", "pk"), mails.order_by("ended_at", "pk")):
        log.info("notifications_pruned", rows=pruned)
