"""The months of the audit. On PostgreSQL each is a partition of its table: made ahead of time, and dropped whole.

A row whose month has no partition goes to the default one, so that none is ever refused for want of a month.
"""

from datetime import UTC, datetime

import structlog
from django.db import connection
from django.utils import timezone

MONTHS_AHEAD = 3

log = structlog.get_logger("larder.audit")


def first_moment(at: datetime) -> datetime:
    """Return when the month of `at` began, in UTC."""
    return at.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def add(since: datetime | None = None) -> None:
    """Create the partitions that are missing, from the month of `since` (by default this one) on.

    By a function of the database, since roles of Larder's processes create no table. It waits two seconds for a lock.
    A backup of an earlier version is loaded before the migration that makes it, and partitioned by that.
    """
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regproc('audit_add_months') IS NULL")
        if cursor.fetchone()[0]:
            return
        cursor.execute("SELECT audit_add_months(%s, %s)", [since or timezone.now(), MONTHS_AHEAD])
        if added := cursor.fetchone()[0]:
            log.info("audit_months_added", months=added)
