from collections.abc import Callable

import pytest

from apps.audit.models import AuditEvent
from tests.builders.outages import database_away

__all__ = ["database_away"]


@pytest.fixture
def event_kinds(db: None) -> Callable[[], list[str]]:
    """The kinds of all audit rows so far, in order."""
    return lambda: list(AuditEvent.objects.order_by("pk").values_list("kind", flat=True))
