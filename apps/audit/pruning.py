"""Delete rows older than LARDER_AUDIT_DAYS in batches, with their links of the chain; one event says up to where."""

from datetime import datetime

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from apps.audit import chain
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent, Link
from apps.audit.recorder import record

# A batch blocks SQLite's one writer for some ten milliseconds. A run ends before Celery's time limit.
BATCH_SIZE = 1000
MAX_ROWS = 1_000_000

log = structlog.get_logger("larder.audit")


def prune() -> int:
    """The beginning of the chain goes. The event comes first, so that a run that stops half-way leaves a chain which
    `chain.verify` accepts.
    """
    chain.link()
    before = timezone.now() - settings.AUDIT_LIFETIME
    stays = Link.objects.filter(at__gte=before).order_by("pk").first()
    old = Link.objects.filter(pk__lt=stays.pk) if stays else Link.objects.all()
    rows = old[:MAX_ROWS].count()
    if not rows:
        return 0
    end = old.order_by("pk")[rows - 1]
    record(Kind.AUDIT_PRUNED, actor_id=None, subject="audit", rows=rows, before=before.isoformat(), chain=end.digest)
    while Link.objects.filter(pk__lte=end.pk).exists():
        delete_batch(end, before)
    log.info("audit_pruned", rows=rows)
    return rows


def delete_batch(end: Link, before: datetime) -> None:
    """Delete the oldest rows and links up to `end`.

    On PostgreSQL by a function of the database, which the migration makes: roles of Larder's processes cannot delete a row. It
    deletes none that is younger than 399 days, and only up to a link that an AUDIT_PRUNED event names.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT audit_prune(%s, %s)", [end.pk, BATCH_SIZE])
        return
    batch = list(Link.objects.filter(pk__lte=end.pk).order_by("pk")[:BATCH_SIZE])
    with transaction.atomic():
        AuditEvent.objects.prune([one.event_id for one in batch], before=before)
        Link.objects.filter(pk__in=[one.pk for one in batch]).delete()
