"""Garbage collection in the repositories (oci.md 7.7): removes what is no longer needed, in small steps, while clients
push.

Each step looks again at what it takes, under the lock that pushes take as well. So it may be stopped at any point, run
twice at once, and run again: what is left is found by the next run.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum, Value
from django.db.models.functions import Concat, Substr
from django.utils import timezone

from apps.artifacts import uploads
from apps.artifacts.models import (
    Collection,
    Manifest,
    ManifestBlob,
    ManifestChild,
    RepositoryBlob,
    Tag,
    UploadSession,
)
from apps.artifacts.repositories import locked
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.blobs import references, store
from apps.blobs.models import Blob

BATCH_SIZE = 100
# Below the time limit of a task; the next run continues.
MAX_DURATION = timedelta(minutes=3)
# Runs are listed for this long: about 2,000 rows.
LISTED_FOR = timedelta(days=90)
# After so many refusals in a row, storage is down.
MAX_REFUSALS = 3

# Of rows that have a `repository`: whether a room above needs the manifest whose digest is in that column.
Needs = Callable[[str], Q]
reference_checks: tuple[Needs, ...] = ()  # by registry_site/wiring.py

log = structlog.get_logger("larder.oci")


class _Run:
    def __init__(self, most: timedelta) -> None:
        self.now = timezone.now()
        self.before = self.now - settings.OCI_GRACE
        self.begun = time.monotonic()
        self.deadline = self.begun + most.total_seconds()
        self.figures = Collection(begun_at=self.now)

    def goes_on(self) -> bool:
        if time.monotonic() < self.deadline:
            return True
        self.figures.is_complete = False
        return False


def collect(*, dry_run: bool = False, most: timedelta = MAX_DURATION) -> Collection:
    """Remove what is no longer needed; log it and record it in a row. Never inside a transaction.

    `dry_run` counts what a run would find first, in a row that is not saved: each step creates work for the next.
    """
    run = _Run(most)
    if dry_run:
        found = run.figures
        found.uploads = lapsed_uploads(run.now).count()
        found.tags = unneeded_tags(run.before).count()
        found.manifests = unneeded_manifests(run.before).count()
        found.repository_blobs = unneeded_repository_blobs(run.before).count()
        blobs = unneeded_blobs(run.before, run.now)
        found.blobs, found.bytes = blobs.count(), int(blobs.aggregate(stored=Sum("size"))["stored"] or 0)
    else:
        for step in (_uploads, _tags, _manifests, _repository_blobs, _blobs):
            step(run)
    done = run.figures
    done.seconds = round(time.monotonic() - run.begun, 3)
    log.info("oci_collected", dry_run=dry_run, is_complete=done.is_complete, seconds=done.seconds, **done.figures)
    if not dry_run:
        done.save()
        Collection.objects.filter(begun_at__lt=run.now - LISTED_FOR).delete()
    return done


def _uploads(run: _Run) -> None:
    while run.goes_on():
        lapsed = list(lapsed_uploads(run.now).order_by("expires_at")[:BATCH_SIZE])
        for session in lapsed:
            uploads.cancel(session)  # what storage does not delete now, its own sweep does
            run.figures.uploads += 1
        if not lapsed:
            return


def _tags(run: _Run) -> None:
    """Before manifests, which have no tag from then on."""
    while run.goes_on():
        number = unneeded_tags(run.before).order_by("pk").values_list("repository", flat=True).first()
        if number is None:
            return
        with locked(number) as repository:
            if repository is None:
                continue
            rows = unneeded_tags(run.before).filter(repository=repository).select_related("manifest")
            for tag in rows.defer("manifest__raw")[:BATCH_SIZE]:
                subject, digest = str(repository.address), tag.manifest.digest
                record(Kind.TAG_DELETED, actor_id=None, subject=subject, digest=digest, tags=[tag.name])
                tag.delete()
                run.figures.tags += 1


def _manifests(run: _Run) -> None:
    """Repeat until nothing is left: an index frees its manifests, a manifest frees what is attached to it."""
    went, last = 0, 0
    while run.goes_on():
        rows = unneeded_manifests(run.before).filter(pk__gt=last).order_by("pk")
        found = list(rows.values_list("repository", "pk")[:BATCH_SIZE])
        for number in dict.fromkeys(number for number, _ in found):
            with locked(number) as repository:
                if repository is None:
                    continue
                keys = [pk for of, pk in found if of == number]
                rows = unneeded_manifests(run.before).filter(pk__in=keys, repository=repository)
                gone = dict(rows.values_list("pk", "digest"))
                Manifest.objects.filter(pk__in=gone).delete()
                for digest in gone.values():
                    record(Kind.MANIFEST_COLLECTED, actor_id=None, subject=str(repository.address), digest=digest)
                went += len(gone)
        if found:
            last = found[-1][1]
        elif went:
            run.figures.manifests += went
            went, last = 0, 0
        else:
            return
    run.figures.manifests += went


def _repository_blobs(run: _Run) -> None:
    while run.goes_on():
        with transaction.atomic():
            stale = unneeded_repository_blobs(run.before)
            # Skip rows that a push has locked. The second query sees references written before the lock.
            rows = stale.select_for_update(skip_locked=True, of=("self",))
            locked = list(rows.values_list("pk", flat=True)[:BATCH_SIZE])
            _, went = stale.filter(pk__in=locked).delete()
        run.figures.repository_blobs += sum(went.values())
        if len(locked) < BATCH_SIZE or not went:
            return


def _blobs(run: _Run) -> None:
    last = refusals = 0
    while run.goes_on():
        rows = unneeded_blobs(run.before, run.now).filter(pk__gt=last).order_by("pk")
        found = list(rows.values_list("pk", "digest", "size")[:BATCH_SIZE])
        for last, digest, size in found:  # noqa: B007 - read by the next round
            try:
                removed = store.remove(digest, even_pending=True)
            except store.StorageUnavailable as outage:
                log.warning("oci_collecting_refused", digest=digest, why=str(outage))
                run.figures.is_complete, refusals = False, refusals + 1
                if refusals >= MAX_REFUSALS:
                    return
                continue
            refusals = 0
            run.figures.blobs += removed
            run.figures.bytes += size if removed else 0
        if not found:
            return


# --- What nobody needs, asked again before it is taken --------------------------------------------------------------


def lapsed_uploads(now: datetime) -> QuerySet[UploadSession]:
    """Expired, and without a lease."""
    return UploadSession.objects.filter(Q(lease_until=None) | Q(lease_until__lt=now), expires_at__lt=now)


# Clients without the referrers API (cosign 2) attach by a tag that spells a digest.
_SPELLS_DIGEST = r"^sha256-[0-9a-f]{64}(\.[a-z]+)?$"


def unneeded_tags(before: datetime) -> QuerySet[Tag]:
    """Tags that attach something to a missing manifest."""
    spelt = Concat(Value("sha256:"), Substr("name", len("sha256-") + 1, 64))
    subjects = Manifest.objects.filter(repository=OuterRef("repository"), digest=OuterRef("spelt"))
    rows = Tag.objects.filter(name__regex=_SPELLS_DIGEST, moved_at__lt=before).annotate(spelt=spelt)
    return rows.filter(~Exists(subjects), ~_is_needed("spelt"))


def unneeded_manifests(before: datetime) -> QuerySet[Manifest]:
    """Manifests that no tag, index or release needs and that are attached to no existing manifest.

    If a subject is missing, the age of an attached manifest counts from its own last push.
    """
    here = {"repository": OuterRef("repository")}
    tagged = Tag.objects.filter(manifest=OuterRef("pk"))
    listed = ManifestChild.objects.filter(manifest__repository=OuterRef("repository"), digest=OuterRef("digest"))
    subjects = Manifest.objects.filter(digest=OuterRef("subject"), **here)
    is_attached = ~Q(subject="") & (Q(Exists(subjects)) | _is_needed("subject"))
    rows = Manifest.objects.filter(seen_at__lt=before)
    return rows.filter(~Q(Exists(tagged)), ~Q(Exists(listed)), ~_is_needed("digest")).exclude(is_attached)


def unneeded_repository_blobs(before: datetime) -> QuerySet[RepositoryBlob]:
    """Blobs that no manifest names and no publisher was told about lately."""
    referring = ManifestBlob.objects.filter(blob=OuterRef("pk"))
    return RepositoryBlob.objects.filter(~Exists(referring), seen_at__lt=before)


def unneeded_blobs(before: datetime, now: datetime) -> QuerySet[Blob]:
    """Return blobs that neither a repository nor a release needs and no other run is removing."""
    free = Q(deleting_until=None) | Q(deleting_until__lt=now)
    return references.unreferenced(Blob.objects.filter(free, created_at__lt=before))


def _is_needed(column: str) -> Q:
    return reduce(or_, (needs(column) for needs in reference_checks), Q(pk__in=[]))
