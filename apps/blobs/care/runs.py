"""The last result of each kind of maintenance: backup, `verify` and scrub. Each begins `with runs.recorded(...)`, on
any host.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError
from django.db.models.functions import Now

from apps.blobs.models import Run

log = structlog.get_logger("larder.blobs")


class What(StrEnum):
    BACKUP = "backup"
    VERIFY = "verify"
    SCRUB = "scrub"


@contextmanager
def recorded(what: What) -> Iterator[None]:
    """Record that it succeeded, or failed if it raises. Without a database the age of the last one tells."""
    try:
        yield
    except BaseException:
        record(what, is_good=False)
        raise
    record(what, is_good=True)


def record(what: What, *, is_good: bool) -> None:
    row: dict[str, Any] = {"ended_at": Now(), "is_good": is_good}
    if is_good:
        row["good_at"] = Now()
    try:
        Run.objects.bulk_create(
            [Run(what=what, **row)], update_conflicts=True, unique_fields=["what"], update_fields=list(row)
        )
    except (OperationalError, InterfaceError) as error:
        log.warning("run_not_recorded", what=what, error=type(error).__name__)
