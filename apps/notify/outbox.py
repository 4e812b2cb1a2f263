"""The outbox: `audit.record` adds a row in its transaction, and a worker makes deliveries and mail of it (D4).

So an event that was rolled back is sent to no one, one that was committed is not forgotten, and no request waits for a
receiver or a mail server.
"""

import json
import re
import secrets
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Count, Min, Q
from django.utils import timezone

from apps.accounts.models import Namespace
from apps.audit.models import AuditEvent
from apps.jobs import database_availability
from apps.notify.events import NAMES
from apps.notify.mail import letters
from apps.notify.models import Delivery, OutboxEvent, Shape, State, Webhook
from apps.notify.notices import OF_UNPUBLISHED, Notice, notices_of

BATCH_SIZE = 500
# Slack reads these three itself; the others would be styles.
_SLACK = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_STYLES = re.compile(r"([*_~`])")

log = structlog.get_logger("larder.notify")


def add(event: AuditEvent) -> None:
    """Write an event that a person or webhook may receive, in one INSERT: the hook of `audit.recorder`."""
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
        Delivery.objects.bulk_create(
            [delivery_of(hook, notice) for hook in listening(notice.namespace, notice.event)],
            ignore_conflicts=True,
        )
        letters.write(notice)
    return 1


def listening(namespace: Namespace | None, event: str) -> list[Webhook]:
    """The webhooks that are called for an event of the namespace, site-wide ones among them."""
    hooks = Webhook.objects.filter(Q(namespace=namespace) | Q(namespace=None), disabled_at=None, suspended_at=None)
    return [hook for hook in hooks.order_by("pk") if event in hook.events]


def delivery_of(hook: Webhook, notice: Notice) -> Delivery:
    return Delivery(
        webhook=hook,
        message_id=f"msg_{secrets.token_hex(16)}",
        event_id=notice.event_id,
        event=notice.event,
        subject=notice.subject,
        body=body_of(notice, hook.shape),
        next_at=timezone.now(),
    )


def body_of(notice: Notice, shape: str) -> str:
    """The JSON of a notice. docs/webhooks.md describes it; fields are added, and never change."""
    made = {Shape.STANDARD: _standard, Shape.SLACK: _slack, Shape.TEAMS: _teams}[Shape(shape)](notice)
    return json.dumps(made, ensure_ascii=False, separators=(",", ":"))


def _standard(notice: Notice) -> dict[str, Any]:
    data: dict[str, Any] = {"namespace": notice.namespace.name if notice.namespace else None}
    if notice.address:
        data |= {"kind": notice.kind, "address": notice.address, "version": notice.version}
    data |= {"by": notice.by or None, "url": notice.url, "text": notice.sentence}
    if notice.event in OF_UNPUBLISHED and notice.release is not None:
        data["release"] = str(notice.release.public_id)
    if notice.breaking:
        data["breaking"] = notice.breaking
    return {"type": notice.event, "timestamp": f"{notice.at:%Y-%m-%dT%H:%M:%SZ}", "data": data | notice.more}


def _slack(notice: Notice) -> dict[str, Any]:
    lines = [f"{_plain(notice.sentence)} <{notice.url}|Open in Larder>"]
    lines += [f"> {_plain(text)}" for text in (notice.breaking, notice.reason, notice.message) if text]
    return {"text": "\n".join(lines)}


def _plain(text: str) -> str:
    """Text that Slack shows as it is: no links, mentions or styles."""
    for letter, entity in _SLACK.items():
        text = text.replace(letter, entity)
    # A zero-width space after it: Slack has no escape.
    return _STYLES.sub("\\1\N{ZERO WIDTH SPACE}", text)


def _teams(notice: Notice) -> dict[str, Any]:
    """An adaptive card. Text runs are shown as they are; a TextBlock would read Markdown."""
    lines = [text for text in (notice.sentence, notice.breaking, notice.reason, notice.message) if text]
    card = {
        "type": "AdaptiveCard",
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": line}]} for line in lines],
        "actions": [{"type": "Action.OpenUrl", "title": "Open in Larder", "url": notice.url}],
    }
    return {
        "type": "message",
        "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}],
    }


def waiting() -> dict[str, tuple[int, float]]:
    """For operators: {what: (how many, seconds since the oldest was due)}. A retry is no delay before it is due."""
    now = timezone.now()
    outbox = OutboxEvent.objects.aggregate(count=Count("pk"), since=Min("at"))
    hooks = Delivery.objects.filter(state=State.WAITING).aggregate(count=Count("pk"), since=Min("next_at"))
    # Those of a digest wait for it.
    mails = letters.pending().exclude(user__mail_preference__is_digest=True)
    mail = mails.aggregate(count=Count("pk"), since=Min("next_at"))
    found = {"outbox": outbox, "webhook": hooks, "mail": mail}
    return {
        what: (row["count"], max(0.0, (now - row["since"]).total_seconds()) if row["since"] else 0.0)
        for what, row in found.items()
    }
