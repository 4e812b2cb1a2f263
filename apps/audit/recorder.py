"""Record an event in the transaction of the verb that caused it (D14)."""

from typing import Any

import structlog
from django.db import transaction

from apps.audit import generation
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib import redaction


def record(kind: Kind, *, actor_id: int | None, subject: str, token_id: int | None = None, **detail: Any) -> AuditEvent:
    """Append one event, with the request id of the log context, and bump the generation of what it touches.

    Secrets are redacted: people paste them into reasons and names, and rows stay.
    """
    request_id = str(structlog.contextvars.get_contextvars().get("request_id", ""))
    with transaction.atomic(savepoint=False):
        event = AuditEvent.objects.create(
            kind=kind,
            actor_id=actor_id,
            token_id=token_id,
            subject=redaction.redact(subject),
            detail=redaction.redact_all(detail),
            request_id=request_id[:64],
        )
        if scopes := generation.scopes_of(kind, subject):
            generation.touch(scopes)
    return event
