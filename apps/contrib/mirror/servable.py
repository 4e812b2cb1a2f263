"""Check that stored bytes of a package may be served: they are neither lost nor in quarantine.

Storage that has lost or damaged a mirrored package is no outage: the reference is dropped, and the next client has the
package fetched again, checked against the same digest. Never inside a transaction: storage may be slow.
"""

from collections.abc import Collection

import structlog
from django.db import DatabaseError, InterfaceError
from django.utils import timezone

from apps.blobs import references, store
from apps.blobs.care import scrub
from apps.blobs.models import Blob, Problem
from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.models import Upstream, UpstreamPackage
from apps.contrib.mirror.storage import UPSTREAM, evict_packages
from apps.contrib.mirror.stored_sums import stored
from apps.releases.lifecycle.quarantine import blocked
from apps.releases.models import Release, ReleaseBlob

BATCH_SIZE = 200
# So many of an upstream's packages may be missing. More are a disk that is not mounted, which somebody mounts again.
MOST_MISSING, MOST_MISSING_SHARE = 10, 0.05

log = structlog.get_logger("larder.upstream")


# --- Quarantine ---------------------------------------------------------------------------------------------------


def quarantined(digests: Collection[str]) -> frozenset[str]:
    """Return those whose bytes are in quarantine in any release of ours: a mirror must not serve them either.

    Two indexed lookups. While the database is away, by the list that this process read last.
    """
    try:
        whole = Release.objects.filter(digest__in=digests, quarantined_at__isnull=False).values_list("digest")
        parts = ReleaseBlob.objects.filter(digest__in=digests, release__quarantined_at__isnull=False)
        return frozenset(digest for (digest,) in whole.union(parts.values_list("digest")))
    except (DatabaseError, InterfaceError):
        return frozenset(digest for digest in digests if digest in blocked)


def refuse_quarantined(package: UpstreamPackage) -> None:
    """Raise Refused for bytes in quarantine, without naming the release (D8). Ask at every download."""
    if quarantined([package.digest]):
        raise Refused(
            f"{package.filename} is not served: the same bytes (sha256:{package.digest}) are in quarantine here.",
            hint="Use another version, or ask an operator.",
        )


# --- Bytes that storage has lost ----------------------------------------------------------------------------------


def forget_lost() -> int:
    """Let go of packages whose bytes a scrub or a download found missing or damaged; return how many.

    Many missing ones at once are left alone: that is a disk which is not mounted. The check-up and the alert on blobs
    say so, and a client that asks for one of them still has it fetched again.
    """
    total = 0
    for upstream in Upstream.objects.order_by("pk"):
        rows = stored(upstream).exclude(blob__problem=Problem.NONE)
        lost = list(rows.select_related("blob", UPSTREAM).order_by("blob__checked_at", "pk")[:BATCH_SIZE])
        if not lost:
            continue
        missing = rows.filter(blob__problem=Problem.MISSING).count()
        if missing > max(MOST_MISSING, MOST_MISSING_SHARE * stored(upstream).count()):
            log.error("mirrored_bytes_missing", host=upstream.host, missing=missing)
            lost = [package for package in lost if package.blob and package.blob.problem != Problem.MISSING]
        total += sum(forget(package) for package in lost)
    return total


def without_lost_bytes(package: UpstreamPackage) -> UpstreamPackage:
    """Return the package as it can be served: without its blob if that is known to be lost, to be fetched again.

    Ask before serving. No query if `blob` is loaded and the bytes are there; a finding is looked at again before it
    counts. Raises StorageUnavailable.
    """
    if package.blob is None:
        return package
    has_finding = package.blob.problem != Problem.NONE or store.size_of(package.digest) is None
    try:
        store.require_sound(package.digest)  # this process may have found it while it sent the bytes
    except store.DamagedInStorage:
        has_finding = True
    if has_finding:
        forget(package)
    return package


def forget(package: UpstreamPackage) -> bool:
    """Drop the reference and the bad bytes; False if the bytes are right by now, or another row needs them too.

    Damaged bytes that a version of ours or a repository needs stay for the operator, who restores them from a backup:
    bytes are written once, so that a fetch would not replace them.
    """
    store.ready()
    found = scrub.read_again(package.digest)
    if found is not None:
        if found.hexdigest == package.digest:
            Blob.objects.filter(digest=package.digest).update(problem=Problem.NONE, checked_at=timezone.now())
            return False
        if references.is_referenced(package.digest, besides_rows_of=UpstreamPackage):
            log.error("damaged_bytes_stay", digest=package.digest, package=str(package))
            return False
    alike = list(UpstreamPackage.objects.filter(blob=package.blob_id).select_related("blob", UPSTREAM))
    reason = "the stored bytes are " + ("missing" if found is None else "damaged")
    went = evict_packages(alike, reason=reason, even_pinned=True)
    package.blob = None
    return bool(went)
