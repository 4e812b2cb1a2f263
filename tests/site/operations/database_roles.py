"""Two roles of PostgreSQL, and what they are refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

WEB, SIGNING = "larder_test_web", "larder_test_signing"


@contextmanager
def role(name: str) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(f"SET ROLE {name}")
        try:
            yield
        finally:
            cursor.execute("RESET ROLE")


@transaction.atomic
def execute(sql: str, *values: Any) -> int:
    """Run it in a savepoint; return how many rows it found."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values or None)
        return cursor.rowcount


def assert_refused(sql: str, *values: Any, by: str = "permission denied") -> None:
    with pytest.raises(Exception, match=by) as refused:
        execute(sql, *values)
    assert isinstance(refused.value.__cause__, psycopg.errors.InsufficientPrivilege), refused.value
