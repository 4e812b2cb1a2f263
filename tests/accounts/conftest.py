from collections.abc import Callable

import pytest
from django.test import Client

from apps.audit.models import AuditEvent
from tests.builders.outages import database_away

__all__ = ["database_away"]


@pytest.fixture
def event_kinds(db: None) -> Callable[[], list[str]]:
    """The kinds of all audit rows so far, in order."""
    return lambda: list(AuditEvent.objects.order_by("pk").values_list("kind", flat=True))


def client_with(secret: str) -> Client:
    """Return a client of a program that sends the token."""
    return Client(headers={"Authorization": f"Bearer {secret}"})


def status_of(secret: str, url: str = "/api/v1/me") -> int:
    return client_with(secret).get(url).status_code
