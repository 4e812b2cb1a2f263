"""Requests to the signing worker, written by hand as someone who can write to the database would."""

from typing import Any

from structlog.testing import capture_logs

from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.jobs import queue
from apps.lib.process import metrics
from apps.providers.signatures import requests
from apps.providers.tasks import sign_release
from apps.releases.models import Release
from apps.signing.models import SignatureRequest, SigningKey


def ask(release: Release | None, key: SigningKey, **more: Any) -> SignatureRequest:
    """Write a request and its job by hand, let the signing worker answer, and return the row."""
    row = SignatureRequest.objects.create(release_id=release.pk if release else None, key=key, **more)
    job = queue.enqueue(requests.JOB, target=row.pk, created_by_id=None)
    sign_release(job_id=job.pk)
    row.refresh_from_db()
    return row


def refusals(why: str) -> float:
    return metrics.registry.get_sample_value("larder_signing_refusals_total", {"reason": why}) or 0.0


def assert_refused(release: Release | None, key: SigningKey, why: str) -> None:
    """No signature; a count, an error in the log and an audit row."""
    counted, audited = refusals(why), AuditEvent.objects.filter(kind=Kind.RELEASE_SIGNING_REFUSED).count()
    with capture_logs() as logged:
        row = ask(release, key)

    assert (row.signature, row.problem) == (None, why)
    assert refusals(why) == counted + 1
    assert [one["reason"] for one in logged if one["event"] == "signing_refused"] == [why]
    events = AuditEvent.objects.filter(kind=Kind.RELEASE_SIGNING_REFUSED).order_by("-pk")
    assert events.count() == audited + 1
    assert (events[0].detail["reason"], events[0].detail["fingerprint"]) == (why, key.fingerprint)
