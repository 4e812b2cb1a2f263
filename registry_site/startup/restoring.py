"""The mark of a restore that has begun and not ended, in the database and in storage.

By it a restore that was killed can be repeated: what it has left is its own, and may be written again. Until then no
process of Larder starts on it, because half of the rows may be missing, and ended tokens would be valid again.
"""

from pathlib import Path

from django.db import connection, transaction

from registry_site.startup.bootstrap import CannotStartError

# No model: it must be there before any migration, and be no part of a backup.
TABLE = "larder_restore"
KEY = "restoring/backup"


def begun() -> tuple[str, bool]:
    """Return the backup that is being restored to the database, or "", and whether its rows are all there."""
    if not _is_marked():
        return "", False
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT backup, has_rows FROM {TABLE}")  # noqa: S608  # our own name
        found = cursor.fetchone()
    return (found[0], bool(found[1])) if found else ("", False)


def begun_in_storage() -> str:
    """Return the backup that is being restored to storage, or "". Raises StorageUnavailable."""
    from apps.blobs import store  # this module is read before the apps are loaded

    return (store.get(KEY) or b"").decode(errors="replace")


def begin(backup: str, *, in_storage: bool) -> None:
    """Before anything else is written. Safe to repeat."""
    from apps.blobs import backends, store  # as above

    if begun()[0] != backup:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {TABLE} (backup varchar(64) NOT NULL, has_rows boolean NOT NULL)"
            )
            cursor.execute(f"DELETE FROM {TABLE}")  # noqa: S608  # our own name
            cursor.execute(f"INSERT INTO {TABLE} VALUES (%s, %s)", [backup, False])  # noqa: S608  # our own name
    if in_storage and begun_in_storage() != backup:
        backends.current().delete(KEY)
        store.put_once(KEY, backup.encode())


def rows_are_there() -> None:
    """In the transaction that loads them."""
    if not begun()[0]:
        return
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {TABLE} SET has_rows = %s", [True])  # noqa: S608  # our own name


def end() -> None:
    """After everything else, the taking back of access included. The database last: it is what keeps processes out."""
    from apps.blobs import backends  # as above

    backends.current().delete(KEY)
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")


def require_none() -> None:
    """Raise CannotStartError while a restore has not ended. For any role: which backup it is, only the owner reads."""
    if _is_marked():
        raise CannotStartError(
            "A restore to this database has begun and not ended, so that rows may be missing. Run the same restore "
            "again: it continues. Or start with an empty database and an empty storage."
        )


def _is_marked() -> bool:
    if connection.vendor == "sqlite" and not Path(str(connection.settings_dict["NAME"])).exists():
        return False  # to look would create it
    with connection.cursor() as cursor:
        return TABLE in connection.introspection.table_names(cursor)
