"""The outbox: `audit.record` adds a row in its transaction, and a worker makes deliveries and mail of it (D4).

So an event that was rolled back is told to nobody, one that was committed is not forgotten, and nobody waits for a
receiver or a mail server.
"""

import secrets

import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.audit.models import AuditEvent
from apps.jobs import database_availability
from apps.notify import payloads
from apps.notify.events import NAMES
from apps.notify.mail import letters
from apps.notify.models import Delivery, OutboxEvent, Webhook
from apps.notify.notices import Notice, notices_of

BATCH_SIZE = 500

log = structlog.get_logger("larder.notify")


def add(event: AuditEvent) -> None:
    """The hook of `audit.recorder`: one INSERT for an event that somebody may be told of, else nothing."""
    if event.kind in NAMES:
        OutboxEvent.objects.create(event_id=event.pk)


def dispatch() -> int:
    """Turn the rows of the outbox into deliveries and letters; return how many.

    Of two workers at once each row has one. A row that cannot be told stays, and its age raises an alarm.
    """
    done = 0
    for number in OutboxEvent.objects.order_by("pk").values_list("pk", flat=True)[:BATCH_SIZE]:
        try:
            done += _dispatch(number)
        except database_availability.AWAY:
            raise
        except Exception:
            log.exception("notice_failed", row=number)
    return done


@transaction.atomic
def _dispatch(number: int) -> int:
    row = OutboxEvent.objects.filter(pk=number).first()
    # Whoever deletes it has it: the other one waits here for the end of this transaction, and finds nothing.
    if row is None or not OutboxEvent.objects.filter(pk=number).delete()[0]:
        return 0
    for notice in notices_of(AuditEvent.objects.filter(pk=row.event_id)):
        hooks = Webhook.objects.filter(Q(namespace=notice.namespace) | Q(namespace=None), disabled_at=None)
        Delivery.objects.bulk_create(
            [delivery_of(hook, notice) for hook in hooks.order_by("pk") if notice.event in hook.events],
            ignore_conflicts=True,
        )
        letters.write(notice)
    return 1


def delivery_of(hook: Webhook, notice: Notice) -> Delivery:
    return Delivery(
        webhook=hook,
        message_id=f"msg_{secrets.token_hex(16)}",
        event_id=notice.event_id,
        event=notice.event,
        subject=notice.subject,
        body=payloads.body_of(notice, hook.shape),
        next_at=timezone.now(),
    )
