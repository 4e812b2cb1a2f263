"""The event of a webhook that was switched off."""

from typing import Any

from django.urls import reverse

from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.notify.declaring import Event


def _sentence(notice: Any) -> str:
    whose = f"of {notice.namespace}" if notice.namespace else "of the whole site"
    return f"{f'The webhook to {notice.host}' if notice.host else 'A webhook'} {whose} was switched off"


def _page(event: AuditEvent, namespace: str) -> str:
    number = event.subject.rpartition("/")[2]
    return (
        reverse("portal:webhook", args=[namespace, number])
        if namespace
        else reverse("portal:site-webhook", args=[number])
    )


EVENTS = {
    "webhook.disabled": Event(
        Kind.WEBHOOK_DISABLED,
        "A webhook was switched off after repeated failures",
        place=3,
        sentence=_sentence,
        page=_page,
        is_site_wide=True,
    )
}
