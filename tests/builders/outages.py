"""A database that is away, for edges: import the fixture into a conftest."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import OperationalError, connection


@pytest.fixture
def database_away():
    """`with database_away(): …` answers every query as a server that cannot be reached."""

    def refuse(*_: object) -> None:
        raise OperationalError("connection refused")

    @contextmanager
    def away() -> Iterator[None]:
        with connection.execute_wrapper(refuse):
            yield

    return away
