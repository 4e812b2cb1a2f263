"""State where a release comes from: a job for a signing worker, in the transaction that publishes it (D27).

A release never waits for its statement: while no worker can sign, the job waits, and a sweep asks again for releases
that have none, also those of an older Larder. The row is written once; a purge leaves it with the tombstone, unserved.
"""

import hashlib
import json
from datetime import timedelta
from typing import Any

import structlog
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.jobs import queue, turns
from apps.jobs.claims import Claim, Outage
from apps.jobs.models import WORKING, Job
from apps.jobs.models import State as JobState
from apps.lib.errors import Conflict, NotFound
from apps.lib.formats import dsse, sums
from apps.provenance import predicates, referrers, subjects
from apps.provenance.models import Statement
from apps.releases.models import Kind, Release, ReleaseQuerySet, State
from apps.releases.origin.models import joined
from apps.releases.publishing import ledger
from apps.releases.publishing.fault_injection import fault_point
from apps.signing import statement_keys, vault
from apps.signing.models import StatementKey

JOB = "state-release"
SOURCE = "statements"  # of those that a sweep asks for
# Jobs that wait at the same time for the sake of releases without a statement: a reaper rings for so many at most.
MOST_WAITING = 50
# A rotation in the meantime lets it sign again, with the new key.
_TRIES = 3
# A job that has failed is tried again then: an operator may have mended the cause.
_AGAIN = timedelta(hours=1)
# A worker has not been late before.
LATE = timedelta(minutes=10)

log = structlog.get_logger("larder.provenance")


class Refused(Conflict):
    """The registry states nothing of this release."""

    code = "statement_refused"


class NotYet(NotFound):
    """The release is published, and its statement is still to come."""

    def __init__(self, release: Release) -> None:
        super().__init__(
            f"The statement of {release} has not been signed yet: a worker does it after the publication.",
            hint="Try again in a minute. If it is still missing, ask an operator whether a signing worker is running.",
        )


def request(release: Release) -> None:
    """Ask a signing worker; in the transaction that publishes. Of an import that has asked for enough, a sweep asks."""
    leading = turns.running.get()
    source = leading.source if leading else ""
    if not source or turns.kinds_under_way(source).count(JOB) < turns.WINDOW:
        queue.enqueue_once(JOB, target=release.pk, created_by_id=None)


def sweep() -> int:
    """Ask for releases without a statement, the oldest first, in small steps; return for how many."""
    waiting = Job.objects.filter(kind=JOB, state__in=WORKING).count()
    if waiting >= MOST_WAITING:
        return 0
    jobs = Job.objects.filter(kind=JOB, target=OuterRef("pk"))
    asked = jobs.filter(state__in=WORKING)
    failed = jobs.filter(state=JobState.FAILED, finished_at__gt=Now() - _AGAIN)
    rows = missing().filter(~Exists(asked), ~Exists(failed)).order_by("pk")[: MOST_WAITING - waiting]
    for release in rows:
        share = f"namespace {release.namespace_id}"
        queue.enqueue_once(JOB, target=release.pk, created_by_id=None, source=SOURCE, share=share)
    return len(rows)


def missing() -> ReleaseQuerySet:
    """Return published releases without a statement, also those in quarantine: it may end."""
    stated = Statement.objects.filter(release=OuterRef("pk"))
    return Release.objects.filter(~Exists(stated), state=State.PUBLISHED)


def late() -> ReleaseQuerySet:
    """Return those that have waited for longer than a worker takes."""
    return missing().filter(published_at__lt=Now() - LATE)


def statement_of(release: Release) -> Statement | None:
    return Statement.objects.select_related("key").filter(release=release).first()


def require(release: Release) -> Statement:
    """Raises NotYet. The caller asks the gate, and whether clients see the release."""
    found = statement_of(release)
    if found is None:
        raise NotYet(release)
    return found


def payload_of(release: Release) -> dict[str, Any]:
    """Return the in-toto statement of a published release."""
    origin, approval = (joined(release, name) for name in ("origin", "approval"))
    return predicates.statement(release, subjects.of_release(release), origin, approval)


def encoded(payload: dict[str, Any]) -> bytes:
    """The same statement always has the same bytes."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()


def run(claim: Claim) -> None:
    """The signing worker's half. Safe to repeat: the first statement stays."""
    release = missing().select_related("namespace", "origin", "approval").filter(pk=claim.target).first()
    if release is None:
        return
    if claim.exhausted:
        log.error("statement_gave_up", release=str(release))
        return
    _compare_with_ledger(release)
    payload = payload_of(release)
    if not payload["subject"]:
        return  # purged in the meantime
    for left in reversed(range(_TRIES)):
        try:
            key, envelope = statement_keys.sign(dsse.IN_TOTO, encoded(payload))
            fault_point("after:state", release)
            _store(release, key, envelope, claim)
        except vault.SignerUnavailable as away:
            raise Outage(str(away)) from away
        except statement_keys.Retired:
            if not left:
                raise
        else:
            return


def _store(release: Release, key: StatementKey, envelope: bytes, claim: Claim) -> None:
    """With an audit row in the same transaction. Raises Retired."""
    digest = hashlib.sha256(envelope).hexdigest()
    with transaction.atomic():
        claim.guard()
        statement_keys.require_active(key)
        try:
            with transaction.atomic():
                size = len(envelope)
                referrers.keep(Statement(release=release, key=key, envelope=envelope, digest=digest, size=size))
        except IntegrityError:
            return  # a worker that this one took for dead was faster
        record(
            Event.RELEASE_STATED,
            actor_id=None,
            subject=str(release),
            release=release.pk,
            key=key.pk,
            key_id=key.key_id,
            digest=digest,
        )
    log.info("release_stated", release=str(release), key=key.key_id)


def _compare_with_ledger(release: Release) -> None:
    """A version number that was published once with other bytes is not stated. Raises Refused, StorageUnavailable.

    The worker trusts rows of the database for the rest: what it reads of the packages was checked by another worker.
    """
    known = ledger.known_upload(release)
    if known is None:  # from before there was a ledger
        return
    found = release.uploaded_digest
    if release.kind == Kind.PROVIDER:
        packages = release.provider_version.packages.values_list("filename", "digest")
        found = hashlib.sha256(sums.canonical(dict(packages))).hexdigest()
    if known != found:
        log.error("statement_refused", release=str(release), ledger=known, found=found)
        raise Refused(
            f"According to the ledger in storage, {release} was published with sha256:{known}; the database has "
            f"sha256:{found}.",
            hint="Find out who changed the database: docs/operations/keys.md, A release has no statement.",
        )
