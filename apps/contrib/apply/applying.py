"""Applies a file, or says what it would change."""

from pathlib import Path

import structlog
from django.conf import settings
from django.db import connection, transaction

from apps.contrib.apply import document
from apps.contrib.apply.calls import Calls, operator
from apps.contrib.apply.planning import Run, Step

# Runs take turns on PostgreSQL: "Apply" in ASCII, a number that no other lock has. On SQLite all writers do.
LOCK = 0x4170706C79

log = structlog.get_logger("larder.apply")


def steps(path: Path, *, acts: bool) -> list[Step]:
    """Read the whole file, and return each difference; with `acts` all of them are made true. Raises Invalid.

    All or none: it is one transaction. A plan makes them true as well and rolls back: what it accepts is valid.
    """
    text = document.text_of(path, most=document.LONGEST)
    _ = settings.SECRET_KEY  # which webhooks and credentials need: else the first of these fails
    read = document.read(text, settings.APPLY.variable)
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0")  # a run may take minutes
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        found = list(Run(Calls(operator())).steps(read))
        if not acts:
            transaction.set_rollback(True)
    return found


def at_start() -> None:
    """Apply LARDER_APPLY_FILE. Raises Invalid: a registry that is not as described does not start."""
    if settings.APPLY.file:
        for step in steps(Path(settings.APPLY.file), acts=True):
            log.info("applied", change=str(step))
