"""The stored packages: the quota of an upstream, eviction and pins, quarantine, and bytes that storage has lost.

Whatever goes, only the package's reference to its blob goes: row, hash, sums, signature and key stay, so that the next
client has it fetched again and checked against the same digest. Bytes that are lost or damaged are no outage either.
Never inside a transaction: storage may be slow.
"""

import time
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from apps.accounts.access.gate import NOBODY, Viewer
from apps.audit.kinds import Kind
from apps.blobs import references, store
from apps.blobs.care import scrub
from apps.blobs.models import Blob, Problem
from apps.contrib.mirror.errors import FetchFailed, Refused
from apps.contrib.mirror.models import Upstream, UpstreamPackage, UpstreamVersion
from apps.contrib.mirror.stored_sums import changing, stored, used_bytes
from apps.lib.amounts import amount_text, limit_text
from apps.lib.errors import Conflict, Invalid
from apps.releases.lifecycle.quarantine import blocked
from apps.releases.models import Release, ReleaseBlob

# Clients read what was fetched so lately: a full quota does not take it from them.
IN_USE = timedelta(hours=1)
BATCH_SIZE = 200
# Below the time limit of a task; the next run continues.
MAX_DURATION = timedelta(minutes=3)
MAX_REASON_CHARACTERS = 300
# The audit row names so many.
MAX_NAMED = 50
# So many of an upstream's packages may be missing. More are a disk that is not mounted, which somebody mounts again.
MOST_MISSING, MOST_MISSING_SHARE = 10, 0.05

UPSTREAM = "version__provider__upstream"

log = structlog.get_logger("larder.upstream")


def with_used_bytes(rows: QuerySet[Upstream]) -> QuerySet[Any]:
    """Annotate `used_bytes` and `stored_packages`, for lists of upstreams."""
    return rows.annotate(
        used_bytes=Coalesce("stored_sum__bytes", Value(0)), stored_packages=Coalesce("stored_sum__packages", Value(0))
    )


# --- Quota --------------------------------------------------------------------------------------------------------


def require_room(upstream: Upstream, size: int) -> None:
    """Make room for a download of `size` bytes, or raise FetchFailed with the rule `quota`.

    What was fetched longest ago goes first; pinned packages, and those that clients fetched within IN_USE, stay.
    Downloads that run at the same time do not see each other: together they may exceed the quota by their own sizes.
    """
    quota = upstream.quota_bytes
    if not quota:
        return
    if size <= quota:
        before = timezone.now() - IN_USE
        # Again after each round: packages of the same bytes free them only together.
        while (lacking := used_bytes(upstream) + size - quota) > 0:
            if not evict_packages(_first(upstream, before, lacking), reason="the quota is full", unused_since=before):
                break
        else:
            return
    raise FetchFailed(
        "quota",
        f"The quota of {upstream.host} is full: {amount_text(used_bytes(upstream))} of {limit_text(quota)} are used, "
        f"{amount_text(size)} more are needed, and the rest is pinned or was fetched within the last hour. Raise the "
        "quota, or unpin what is no longer needed.",
        url=upstream.base_url,
        rule="quota",
    )


# --- Eviction -----------------------------------------------------------------------------------------------------


def evict(*, now: datetime, most: timedelta = MAX_DURATION) -> int:
    """Delete the bytes of packages that were not fetched for their upstream's `evict_days`; return how many went."""
    end = time.monotonic() + most.total_seconds()
    total = 0
    for upstream in Upstream.objects.filter(evict_days__gt=0).order_by("pk"):
        before = now - timedelta(days=upstream.evict_days)
        while batch := list(_unused(upstream, before)[:BATCH_SIZE]):
            reason = f"not fetched for {upstream.evict_days} days"
            went = evict_packages(batch, reason=reason, unused_since=before)
            total += went
            if not went or time.monotonic() > end:
                break
    return total


def evict_packages(
    packages: Collection[UpstreamPackage],
    *,
    reason: str,
    actor: Viewer = NOBODY,
    unused_since: datetime | None = None,
    even_pinned: bool = False,
) -> int:
    """Drop the references to their bytes, then the bytes that no other row needs; return how many packages lost them.

    A row that was pinned, used (after `unused_since`) or fetched again meanwhile stays. If the process dies between
    the two, or storage is away, the hourly garbage collection removes the bytes.
    """
    gone: dict[str, list[UpstreamPackage]] = {}
    upstreams = {package.version.provider.upstream_id for package in packages}
    with transaction.atomic(), changing(upstreams, {package.digest for package in packages}):
        for package in packages:
            mine = UpstreamPackage.objects.filter(pk=package.pk, blob=package.blob_id, blob__isnull=False)
            if not even_pinned:
                mine = mine.filter(is_pinned=False)
            if unused_since is not None:
                mine = mine.filter(_unused_since(unused_since))
            if mine.update(blob=None):
                package.blob = None
                gone.setdefault(package.digest, []).append(package)
        if gone:
            _record(gone, reason=reason, actor=actor)
    for digest in gone:
        try:
            store.remove(digest)
        except store.StorageUnavailable as outage:
            log.warning("evicted_bytes_stay", digest=digest, why=str(outage))
    return sum(len(rows) for rows in gone.values())


def evict_now(package: UpstreamPackage, *, actor: Viewer, reason: str) -> None:
    """Delete the stored bytes of one package that is not pinned. Raises Conflict."""
    if package.is_pinned:
        raise Conflict("It is pinned.", hint="Unpin its version first.")
    if package.blob_id is None or not evict_packages([package], reason=reason, actor=actor):
        raise Conflict("Its bytes are not stored.")


def pin(version: UpstreamVersion, *, is_pinned: bool, actor: Viewer, reason: str) -> None:
    """Never evict the packages of a version, or no longer protect them. Its platforms are all known with its record."""
    reason = reason.strip()[:MAX_REASON_CHARACTERS]
    if not reason:
        raise Invalid("Pinning needs a reason.", hint="Say who needs this version, or no longer does.")
    with transaction.atomic():
        rows = UpstreamPackage.objects.filter(version=version).exclude(is_pinned=is_pinned)
        if count := rows.update(is_pinned=is_pinned):
            detail = {"change": "pinned" if is_pinned else "unpinned", "packages": count, "reason": reason}
            actor.record(Kind.UPSTREAM_CHANGED, subject=str(version), **detail)


def _first(upstream: Upstream, before: datetime, size: int) -> list[UpstreamPackage]:
    """Return the packages that were fetched longest ago, until they have `size` bytes, at most a batch."""
    found: list[UpstreamPackage] = []
    for package in _unused(upstream, before)[:BATCH_SIZE]:
        found.append(package)
        size -= package.size or 0
        if size <= 0:
            break
    return found


def _unused(upstream: Upstream, before: datetime) -> QuerySet[UpstreamPackage]:
    rows = stored(upstream).filter(_unused_since(before), is_pinned=False).select_related("blob", UPSTREAM)
    return rows.annotate(last=Coalesce("used_at", "fetched_at")).order_by("last", "pk")


def _unused_since(moment: datetime) -> Q:
    """Match what neither a client nor a worker fetched since."""
    return (Q(used_at=None) | Q(used_at__lt=moment)) & Q(fetched_at__lt=moment)


def _record(gone: dict[str, list[UpstreamPackage]], *, reason: str, actor: Viewer) -> None:
    """One audit row for each upstream. The caller has a transaction."""
    packages = [package for rows in gone.values() for package in rows]
    by_upstream: dict[str, list[UpstreamPackage]] = {}
    for package in packages:
        by_upstream.setdefault(package.version.provider.upstream.host, []).append(package)
    for host, rows in by_upstream.items():
        named = [f"{row.version} {row.platform}" for row in rows[:MAX_NAMED]]
        size = sum(row.size or 0 for row in rows)
        detail = {"reason": reason, "count": len(rows), "bytes": size, "packages": named}
        actor.record(Kind.UPSTREAM_PACKAGES_EVICTED, subject=host, **detail)
        log.info("packages_evicted", host=host, count=len(rows), bytes=size, reason=reason)


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
