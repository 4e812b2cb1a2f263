"""SQL for large amounts of rows, which Django's models would need hours for."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def without_indexes(table: str) -> Iterator[None]:
    """Build them afterwards, except that of the key: with them a row takes ten times as long."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname, replace(indexdef, ' ON ONLY ', ' ON ') FROM pg_indexes "
            "WHERE tablename = %s AND indexname NOT LIKE '%%_pkey'",
            [table],
        )
        indexes = cursor.fetchall()
    for name, _ in indexes:
        execute(f"DROP INDEX {name}", [])
    yield
    for _, statement in indexes:
        execute(statement, [])


def execute(statement: str, values: list[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
