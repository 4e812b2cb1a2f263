"""Delete rows older than LARDER_AUDIT_DAYS in batches, and record that as one event."""

import time

import structlog
from django.conf import settings
from django.utils import timezone

from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.audit.recorder import record

# A batch blocks SQLite's one writer for some ten milliseconds. A run ends before Celery's time limit.
BATCH_SIZE = 1000
MAX_SECONDS = 100.0

log = structlog.get_logger("larder.audit")


def prune() -> int:
    before = timezone.now() - settings.AUDIT_LIFETIME
    deadline, pruned = time.monotonic() + MAX_SECONDS, 0
    while time.monotonic() < deadline:
        count = AuditEvent.objects.prune(before=before, at_most=BATCH_SIZE)
        pruned += count
        if count < BATCH_SIZE:
            break
    if pruned:
        record(Kind.AUDIT_PRUNED, actor_id=None, subject="audit", rows=pruned, before=before.isoformat())
        log.info("audit_pruned", rows=pruned)
    return pruned
