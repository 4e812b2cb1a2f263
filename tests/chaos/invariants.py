"""The invariants after each fault, asked of a Larder's database and storage: points (i) to (vi) of the list.

(ii) asks for a real client as well, which world.py has. This runs in a management process of that Larder.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from unittest.mock import patch

from django.db.models import Count, QuerySet
from django.db.models.functions import Lower
from django.utils import timezone

from apps.audit import chain
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.blobs import backends, store
from apps.jobs.models import WORKING as AT_WORK
from apps.jobs.models import Job
from apps.providers import lifecycle
from apps.releases.lifecycle import verification
from apps.releases.lifecycle.verification import Outcome
from apps.releases.models import LIVE, Release, State
from apps.releases.models import Kind as ReleaseKind
from apps.releases.publishing import ledger, staging, sweeping

PATIENCE = timedelta(minutes=3)
# How keys begin there: a backend lists no whole folder. Random ones, probe-, restored- and turns/.
STAGED = "0123456789abcdefprt"
# The states of which a change must leave an audit row, and the field that says that it happened.
RECORDED = {
    Kind.RELEASE_RECEIVED: lambda release: release.received_at is not None,
    Kind.RELEASE_PUBLISHED: lambda release: release.published_at is not None,
    Kind.RELEASE_REJECTED: lambda release: release.state == State.REJECTED,
    Kind.RELEASE_FAILED: lambda release: release.state == State.FAILED,
}


def problems(namespaces: Sequence[str] = (), *, after: int = 0) -> list[str]:
    """In these namespaces, or in all. The bytes of releases up to number `after` are not read again."""
    rows = Release.objects.select_related("namespace").order_by("pk")
    if namespaces:
        rows = rows.filter(namespace__canonical__in=namespaces)
    found = [*_doubled(rows), *_working(rows), *_ends(rows), *_unlike_audit(rows)]
    found += [*_unsound(rows.filter(pk__gt=after)), *_left_in_staging()]
    chain.link()
    return found + chain.verify().problems


def newest() -> int:
    return Release.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def left_after_sweep() -> list[str]:
    """(iv) What the sweep of the day after tomorrow leaves in staging. Drafts and unfinished uploads end with it."""
    later = timezone.now() + timedelta(days=2)
    with patch.object(timezone, "now", return_value=later):
        sweeping.sweep()
    store.sweep(now=later)
    return list(_staged_before(later))


def _doubled(rows: QuerySet[Release]) -> Iterator[str]:
    """(i) Rows of one coordinate; and what was ever said to be published there, by the audit log."""
    alive = rows.filter(state__in=LIVE).order_by().annotate(low=Lower("name"))
    doubled = alive.values("kind", "namespace__canonical", "low", "sort_key")
    for row in doubled.annotate(count=Count("pk")).filter(count__gt=1):
        yield f"(i) {row['count']} rows for {row['kind']} {row['namespace__canonical']}/{row['low']}"
    said: dict[tuple[str, str], set[str]] = {}
    kinds = dict(rows.values_list("pk", "kind"))
    events = AuditEvent.objects.filter(kind=Kind.RELEASE_PUBLISHED, detail__has_key="digest")
    for subject, detail in events.values_list("subject", "detail"):
        if detail["release"] in kinds:
            said.setdefault((kinds[detail["release"]], subject), set()).add(detail["digest"])
    for (kind, subject), digests in said.items():
        if len(digests) > 1:
            yield f"(i) {kind} {subject} was published with {len(digests)} digests"


def _unsound(rows: QuerySet[Release]) -> Iterator[str]:
    """(i) for the ledger, (ii): each published row's bytes are there, whole and signed."""
    for release in rows.filter(state=State.PUBLISHED):
        findings = list(verification.findings_of(release))
        if release.kind == ReleaseKind.PROVIDER:
            findings += lifecycle.signature_of(release)
        for one in findings:
            if one.outcome != Outcome.SOUND:
                yield f"(ii) {release}: {one.name} is {one.outcome}"
        known = json.loads(store.get(ledger.key_of(release)) or b"{}").get("digest")
        if known != release.digest:
            yield f"(i) {release} has {release.digest}, and the ledger {known}"


def _working(rows: QuerySet[Release]) -> Iterator[str]:
    """(iii) The caller has waited three minutes at most: whoever is still at work has been for longer."""
    ready = (State.RECEIVED, State.CHECKING, State.SIGNING)
    for release in rows.filter(state__in=ready):
        yield f"(iii) {release} is still {release.state}"
    for release in rows.filter(state=State.RECEIVING, receiving_until__lt=timezone.now() - PATIENCE):
        yield f"(iii) {release} still waits for an upload that is long over"
    for job in Job.objects.filter(state__in=AT_WORK, target__in=rows.values("pk"), kind__startswith="publish-"):
        yield f"(iii) the job of release {job.target} is still {job.state}"


def _left_in_staging() -> Iterator[str]:
    """(iv) Nothing lies there longer than allowed but what somebody still needs. Homes of keys: world.py."""
    needed = {f"{backends.STAGING}/{key}" for key in staging.keys_in_use("default")}
    # The sweep comes every hour.
    before = timezone.now() - store.STAGING_LIFETIME - timedelta(hours=1)
    for key in _staged_before(before):
        if key not in needed:
            yield f"(iv) {key} should have been swept"


def _staged_before(moment: datetime) -> Iterator[str]:
    for first in STAGED:
        yield from backends.current().older(f"{backends.STAGING}/{first}", moment)


def _ends(rows: QuerySet[Release]) -> Iterator[str]:
    """(v) What was acknowledged ended as published or rejected, with a reason."""
    for release in rows.exclude(received_at=None).exclude(state__in=(State.PUBLISHED, State.PURGED, State.HELD)):
        if release.state == State.FAILED or (release.state == State.REJECTED and not release.reasons):
            yield f"(v) {release} is {release.state}: {release.reasons}"


def _unlike_audit(rows: QuerySet[Release]) -> Iterator[str]:
    """(vi) Of each change of state exactly one audit row, and none of a change that is not there."""
    events = AuditEvent.objects.filter(kind__in=RECORDED).values_list("kind", "detail")
    recorded = Counter((kind, detail.get("release")) for kind, detail in events)
    for release in rows:
        for kind, has_happened in RECORDED.items():
            if recorded[kind, release.pk] != has_happened(release):
                yield f"(vi) {release} is {release.state}, and the log has {recorded[kind, release.pk]} of {kind}"
