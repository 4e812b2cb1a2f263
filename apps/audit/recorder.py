"""Record an event in the transaction of the verb that caused it (D14)."""

from typing import Any

import structlog

from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib import redaction


def record(kind: Kind, *, actor_id: int | None, subject: str, token_id: int | None = None, **detail: Any) -> AuditEvent:
    """Append one event, with the request id of the log context.

    Secrets are redacted: people paste them into reasons and names, and rows stay.
    """
    request_id = str(structlog.contextvars.get_contextvars().get("request_id", ""))
    return AuditEvent.objects.create(
        kind=kind,
        actor_id=actor_id,
        token_id=token_id,
        subject=redaction.redact(subject),
        detail=redaction.redact_all(detail),
        request_id=request_id[:64],
    )
