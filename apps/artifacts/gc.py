"""Garbage collection: removes what `garbage` finds, in small steps, while others push.

Each step looks again at what it takes, under the lock that pushes take as well. So it may be stopped at any point, run
twice at once, and run again: what is left is found by the next run.
"""

import time
from collections.abc import Iterable
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from apps.artifacts import garbage, uploads
from apps.artifacts.models import Collection, Manifest
from apps.artifacts.repositories import locked
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.blobs import store

BATCH_SIZE = 100
# Below the time limit of a task; the next run continues.
MAX_DURATION = timedelta(minutes=3)
# Runs are listed for this long: about 2,000 rows.
LISTED_FOR = timedelta(days=90)
# After so many refusals in a row, storage is down.
MAX_REFUSALS = 3

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
    """Remove what nobody needs; log it and record it in a row. Never inside a transaction.

    `dry_run` counts what a run would find first, in a row that is not saved: each step creates work for the next.
    """
    run = _Run(most)
    if dry_run:
        _count(run)
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


def _count(run: _Run) -> None:
    found = run.figures
    found.uploads = garbage.uploads(run.now).count()
    found.tags = garbage.tags(run.before).count()
    found.manifests = garbage.manifests(run.before).count()
    found.repository_blobs = garbage.repository_blobs(run.before).count()
    blobs = garbage.blobs(run.before, run.now)
    found.blobs, found.bytes = blobs.count(), int(blobs.aggregate(stored=Sum("size"))["stored"] or 0)


def _uploads(run: _Run) -> None:
    while run.goes_on():
        lapsed = list(garbage.uploads(run.now).order_by("expires_at")[:BATCH_SIZE])
        for session in lapsed:
            uploads.cancel(session)  # what storage does not delete now, its own sweep does
            run.figures.uploads += 1
        if not lapsed:
            return


def _tags(run: _Run) -> None:
    """Before manifests, which have no tag from then on."""
    while run.goes_on():
        number = garbage.tags(run.before).order_by("pk").values_list("repository", flat=True).first()
        if number is None:
            return
        _untag(run, number)


def _untag(run: _Run, number: int) -> None:
    with locked(number) as repository:
        if repository is None:
            return
        rows = garbage.tags(run.before).filter(repository=repository).select_related("manifest")
        for tag in rows.defer("manifest__raw")[:BATCH_SIZE]:
            subject, digest = str(repository.address), tag.manifest.digest
            record(Kind.TAG_DELETED, actor_id=None, subject=subject, digest=digest, tags=[tag.name])
            tag.delete()
            run.figures.tags += 1


def _manifests(run: _Run) -> None:
    """Repeat until nothing is left: an index frees its manifests, a manifest frees what is attached to it."""
    went, last = 0, 0
    while run.goes_on():
        rows = garbage.manifests(run.before).filter(pk__gt=last).order_by("pk")
        found = list(rows.values_list("repository", "pk")[:BATCH_SIZE])
        for repository in dict.fromkeys(one for one, _ in found):
            went += _delete(run, repository, [pk for one, pk in found if one == repository])
        if found:
            last = found[-1][1]
        elif went:
            run.figures.manifests += went
            went, last = 0, 0
        else:
            return
    run.figures.manifests += went


def _delete(run: _Run, number: int, keys: Iterable[int]) -> int:
    with locked(number) as repository:
        if repository is None:
            return 0
        rows = garbage.manifests(run.before).filter(pk__in=keys, repository=repository)
        gone = dict(rows.values_list("pk", "digest"))
        Manifest.objects.filter(pk__in=gone).delete()
        for digest in gone.values():
            record(Kind.MANIFEST_COLLECTED, actor_id=None, subject=str(repository.address), digest=digest)
        return len(gone)


def _repository_blobs(run: _Run) -> None:
    while run.goes_on():
        with transaction.atomic():
            stale = garbage.repository_blobs(run.before)
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
        rows = garbage.blobs(run.before, run.now).filter(pk__gt=last).order_by("pk")
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
