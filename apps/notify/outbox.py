"""The outbox: `audit.record` adds a row in its transaction, and a worker hands it to each channel (D4).

So an event that was rolled back is sent to no one, one that was committed is not forgotten, and no request waits for a
receiver or a mail server.
"""

import structlog
from django.db import transaction
from django.db.models import Count, Min
from django.utils import timezone

from apps.audit.models import AuditEvent
from apps.jobs import database_availability
from apps.notify.channels import channels
from apps.notify.events import NAMES
from apps.notify.models import OutboxEvent
from apps.notify.notices import notices_of

BATCH_SIZE = 500

log = structlog.get_logger("larder.notify")


def add(event: AuditEvent) -> None:
    """Write an event that a person or webhook may receive, in one INSERT: the hook of `audit.recorder`."""
    if event.kind in NAMES:
        OutboxEvent.objects.create(event_id=event.pk)


def dispatch() -> int:
    """Hand the rows of the outbox to the channels; return how many.

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
        for channel in channels():
            channel.write(notice)
    return 1


def waiting() -> dict[str, tuple[int, float]]:
    """For operators: {what: (how many, seconds since the oldest was due)}. A retry is no delay before it is due."""
    now = timezone.now()
    found = {"outbox": OutboxEvent.objects.aggregate(count=Count("pk"), since=Min("at"))}
    for channel in channels():
        found[channel.name] = channel.pending().aggregate(count=Count("pk"), since=Min("next_at"))
    return {
        what: (row["count"], max(0.0, (now - row["since"]).total_seconds()) if row["since"] else 0.0)
        for what, row in found.items()
    }
