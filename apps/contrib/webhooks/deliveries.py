"""The deliveries of an event: one for each webhook that listens, with the body in the form of its receiver."""

import json
import re
import secrets
from typing import Any

from django.db.models import Q
from django.utils import timezone

from apps.accounts.models import Namespace
from apps.notify.events import EVENTS
from apps.notify.models import Delivery, Shape, Webhook
from apps.notify.notices import Notice

# Slack reads these three itself; the others would be styles.
_SLACK = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_STYLES = re.compile(r"([*_~`])")


def write(notice: Notice) -> None:
    hooks = listening(notice.namespace, notice.event)
    Delivery.objects.bulk_create([delivery_of(hook, notice) for hook in hooks], ignore_conflicts=True)


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
    if notice.release is not None and EVENTS[notice.event].is_of_upload:
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
