"""Record an event in the transaction of the verb that caused it (D14)."""

from collections.abc import Callable
from typing import Any

import structlog
from django.db import transaction

from apps.audit import generation
from apps.audit.kinds import Kind, namespace_of
from apps.audit.models import AuditEvent
from apps.lib.text import redaction

# Takes each event in its transaction, filled in by `notify`. The one hook there is.
outbox: Callable[[AuditEvent], None] | None = None


def record(kind: Kind, *, actor_id: int | None, subject: str, token_id: int | None = None, **detail: Any) -> AuditEvent:
    """Append one event, with request id and client of the log context, and bump the generation of what it touches.

    Secrets are redacted: people paste them into reasons and names, and rows stay.
    """
    context = structlog.contextvars.get_contextvars()
    with transaction.atomic(savepoint=False):
        event = AuditEvent.objects.create(
            kind=kind,
            actor_id=actor_id,
            token_id=token_id,
            address=str(context.get("client", ""))[:45],
            namespace=namespace_of(kind, subject),
            subject=redaction.redact(subject),
            detail=redaction.redact_all(detail),
            request_id=str(context.get("request_id", ""))[:64],
        )
        if outbox is not None:
            outbox(event)
        if scopes := generation.scopes_of(kind, subject):
            generation.touch(scopes, subject=subject)
    return event
