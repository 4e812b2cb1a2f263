"""Tampering by an owner of the tables (on PostgreSQL that is to drop the triggers first), and how it is found."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO

from django.core.management import call_command
from django.db import connection
from django.db.models import Model, QuerySet
from django.utils import timezone

from apps.audit.models import AuditEvent


def verified(*arguments: str) -> tuple[str, bool]:
    """Return the output of `manage.py audit verify`, and whether it ended with 0."""
    out, err = StringIO(), StringIO()
    try:
        call_command("audit", "verify", *arguments, stdout=out, stderr=err)
    except SystemExit:
        return err.getvalue(), False
    return out.getvalue(), True


@contextmanager
def without_triggers() -> Iterator[None]:
    tables = ("audit_auditevent", "audit_link") if connection.vendor == "postgresql" else ()
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        yield
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def change(event: AuditEvent, **changes: object) -> None:
    """Past the guards of model and database."""
    with without_triggers():
        QuerySet(AuditEvent).filter(pk=event.pk).update(**changes)


def delete(rows: "QuerySet[Model]") -> None:
    with without_triggers():
        QuerySet(rows.model).filter(pk__in=list(rows.values_list("pk", flat=True))).delete()


def age(events: Iterable[AuditEvent], days: float) -> None:
    for event in events:
        change(event, at=timezone.now() - timedelta(days=days))
