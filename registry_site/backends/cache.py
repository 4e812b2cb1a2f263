"""The cache without Redis: the database or this process's memory.

It counts rate limits, so `incr` is atomic in both.
"""

import base64
import pickle
from typing import Any

from django.core.cache.backends.db import DatabaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.db import connections, router, transaction

# With Django's 300 a stranger could push the count of their guesses out by having something else counted.
MAX_ENTRIES = 50_000


class MemoryCounters(LocMemCache):
    """For a single process."""

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        super().__init__(name, {**params, "max_entries": MAX_ENTRIES})


class DatabaseCounters(DatabaseCache):
    """For several processes without Redis. Django's `incr` reads and writes, and lengthens the life of the entry."""

    def __init__(self, table: str, params: dict[str, Any]) -> None:
        super().__init__(table, {**params, "max_entries": MAX_ENTRIES})
        self._name = table

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        key = self.make_and_validate_key(key, version=version)
        alias = router.db_for_write(self.cache_model_class)
        connection = connections[alias]
        table = connection.ops.quote_name(self._name)
        # SQLite locks the database when the transaction begins.
        lock = " FOR UPDATE" if connection.features.has_select_for_update else ""
        with transaction.atomic(using=alias), connection.cursor() as cursor:
            cursor.execute(f"SELECT value FROM {table} WHERE cache_key = %s{lock}", [key])  # noqa: S608  # the table
            row = cursor.fetchone()
            if row is None:
                raise ValueError(f"Key '{key}' not found")
            count: int = pickle.loads(base64.b64decode(row[0])) + delta  # noqa: S301  # as Django reads it
            written = base64.b64encode(pickle.dumps(count)).decode()
            cursor.execute(f"UPDATE {table} SET value = %s WHERE cache_key = %s", [written, key])  # noqa: S608  # likewise
        return count
