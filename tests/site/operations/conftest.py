from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from tests.builders.outages import database_away
from tests.site.operations.database_roles import SIGNING, WEB

__all__ = ["database_away"]


@pytest.fixture
def roles(db: None) -> None:
    """Both roles, as an operator creates them; they go with the transaction of the test."""
    with connection.cursor() as cursor:
        for role in (WEB, SIGNING):
            cursor.execute(f"CREATE ROLE {role} NOLOGIN NOSUPERUSER")
    call_command("database_roles", web=WEB, signing=SIGNING, stdout=StringIO())
