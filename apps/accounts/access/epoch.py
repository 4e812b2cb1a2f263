"""Detect a restored database, which would give back tokens, sessions and invitations that ended after its backup.

The epoch is a number that grows whenever access is taken away, in the database and, after the commit, in storage. A
database with a lower number than storage is older. Then its sessions and open invitations end, and its tokens are
suspended until an operator decides (`manage.py restored`).
"""

import structlog
from django.contrib.sessions.models import Session
from django.db import DatabaseError, transaction
from django.db.models import F
from django.utils import timezone

from apps.accounts.models import ApiToken, Epoch, Invitation
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.blobs import store

NAME = "epoch"
_ROW = 1

log = structlog.get_logger("larder.accounts")


def advance() -> None:
    """Raise the number in the transaction of a verb that takes access away; storage follows after the commit.

    If storage is away, the regular check catches up; until then a restored database may go unnoticed.
    """
    with transaction.atomic():
        if not Epoch.objects.filter(pk=_ROW).update(number=F("number") + 1):
            Epoch.objects.get_or_create(pk=_ROW, defaults={"number": 1})
        transaction.on_commit(_tell_storage, robust=True)


def _tell_storage() -> None:
    try:
        check()
    except store.StorageUnavailable as error:
        log.warning("epoch_not_stored", error=str(error))


def check() -> bool:
    """Compare the database with storage and raise the lower number; return True if the database was older.

    Not inside a transaction. Raises StorageUnavailable.
    """
    stored = store.highest_number(NAME)
    with transaction.atomic():
        row, _ = Epoch.objects.select_for_update().get_or_create(pk=_ROW)
        is_older = row.number < stored
        if is_older:
            row.number = stored + 1
            row.save()
            counts = suspend(found_by="epoch")
    if row.number > stored:
        store.raise_number(NAME, row.number)
    if is_older:
        log.error("older_database_found", **counts)
    return is_older


def check_at_start() -> None:
    """Check before anything answers, and warn at every start while tokens are suspended."""
    try:
        check()
        suspended = ApiToken.objects.filter(suspended_at__isnull=False, revoked_at=None).count()
    except (store.StorageUnavailable, DatabaseError) as error:
        log.warning("epoch_not_checked", error=type(error).__name__)  # the regular check follows
        return
    if suspended:
        log.warning("tokens_suspended", tokens=suspended, decide="manage.py restored")


def suspend(*, found_by: str) -> dict[str, int]:
    """End sessions and open invitations, suspend tokens, and return the number of each."""
    now = timezone.now()
    with transaction.atomic():
        counts = {
            "tokens": ApiToken.objects.filter(revoked_at=None, suspended_at=None).update(suspended_at=now),
            "sessions": Session.objects.all().delete()[0],
            "invitations": Invitation.objects.filter(used_at=None, revoked_at=None).update(revoked_at=now),
        }
        record(Kind.DATABASE_RESTORED, actor_id=None, subject="database", found_by=found_by, **counts)
    return counts
