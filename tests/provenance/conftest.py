import json
from collections.abc import Callable
from typing import Any

import pytest

from apps.jobs import queues
from apps.jobs.models import Job
from apps.lib.formats import dsse
from apps.provenance.models import Statement
from apps.provenance.tasks import state_release
from apps.releases.models import Release
from apps.signing import statement_keys

State = Callable[[Release], Statement]


def state_all() -> None:
    """Do what a signing worker would with each job that waits, whatever it waits for. Keys go before a sweep's work."""
    for job in Job.objects.filter(kind__in=queues.ROUTES[queues.SIGN], state="queued").order_by("pk"):
        Job.objects.filter(pk=job.pk).update(not_before=None)
        state_release(job_id=job.pk)


@pytest.fixture
def state(worker_host: None) -> State:
    """The release's statement, made by a worker that signs."""

    def stated(release: Release) -> Statement:
        state_all()
        return Statement.objects.select_related("key").get(release=release)

    return stated


def said_in(statement: Statement) -> dict[str, Any]:
    """Return its content, once its key has verified it."""
    found = statement_keys.verify(statement.key, bytes(statement.envelope))
    assert found.payload_type == dsse.IN_TOTO
    said: dict[str, Any] = json.loads(found.payload)
    return said
