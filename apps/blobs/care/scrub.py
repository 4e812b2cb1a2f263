"""Compare storage with the rows: read blobs again in turn, and list objects without a row.

A finding stays on the blob's row until its bytes are right again; an outage is no finding. A run may be stopped at any
point, and two may run at once: each blob is recorded as soon as it is read, and the next run continues.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from itertools import chain, islice
from math import inf
from typing import Any, cast

import structlog
from django.db import transaction
from django.db.models import QuerySet

from apps.blobs import backends, store
from apps.blobs.care import runs
from apps.blobs.models import Blob, Problem, State
from apps.lib.digests import Tally

BATCH_SIZE = 50
LISTING_BATCH = 500
# The last blob may take as long again; both together fit into the time limit of a task.
MAX_DURATION = timedelta(seconds=100)
# The share of it for listing, so that there is time to read.
LISTING_SHARE = 0.25
# After so many failures in a row storage counts as away, even if it claims to be ready.
MAX_UNREAD = 3
# The log names so many of each kind: an unmounted disk misses every blob.
MAX_NAMED = 100
_DIGITS = "0123456789abcdef"
# Anything else below `sha256/` somebody put there: it is ignored.
_BLOB = re.compile(r"sha256/([0-9a-f]{2})/(\1[0-9a-f]{62})")

log = structlog.get_logger("larder.blobs")


class _TooSlow(Exception):
    """Reading one blob takes longer than a whole run may."""


@dataclass(slots=True)
class Report:
    checked: int = 0
    bytes: int = 0
    missing: int = 0
    damaged: int = 0
    healed: int = 0
    unread: int = 0  # failed although storage answered; the log names each
    listed: int = 0
    orphans: int = 0
    removed: int = 0  # of the orphans
    is_complete: bool = True
    outage: str = ""  # why it ended early
    seconds: float = 0.0
    first_orphans: list[str] = field(default_factory=list)


class _Run:
    def __init__(self, most: timedelta | None, now: datetime) -> None:
        self.now = now
        self.begun = time.monotonic()
        self.seconds = inf if most is None else most.total_seconds()
        self.unread_in_a_row = 0
        self.report = Report()

    def has_time(self, part: float = 1.0) -> bool:
        if time.monotonic() < self.begun + self.seconds * part:
            return True
        self.report.is_complete = False
        return False


def scrub(*, now: datetime, most: timedelta | None = MAX_DURATION, remove_orphans: bool = False) -> Report:
    """Check storage for about so long (None: to the end) and log what was found. Never inside a transaction.

    Orphans stay unless asked: after an older database was restored they may be the only copy of a release.
    """
    run = _Run(most, now)
    report = run.report
    try:
        try:
            for listed, found in batches_without_row(now=run.now):
                report.listed += listed
                report.orphans += len(found)
                report.first_orphans += found[: MAX_NAMED - len(report.first_orphans)]
                if remove_orphans:
                    report.removed += sum(remove_orphan(digest) for digest in found)
                if not run.has_time(LISTING_SHARE):
                    break
        finally:
            if report.orphans:
                log.warning("orphans_found", orphans=report.orphans, removed=report.removed, first=report.first_orphans)
        _read(run, _next)
    except store.StorageUnavailable as outage:
        run.report.is_complete, run.report.outage = False, str(outage)
    run.report.seconds = round(time.monotonic() - run.begun, 3)
    log.info("storage_scrubbed", **asdict(run.report))
    runs.record(runs.What.SCRUB, is_good=not (report.missing or report.damaged or report.unread or report.outage))
    return run.report


def recheck(*, now: datetime, most: timedelta | None = MAX_DURATION) -> Report:
    """Read blobs with a finding again, so that repaired ones are served soon."""
    run = _Run(most, now)
    try:
        _read(run, _next_found)
    except store.StorageUnavailable as outage:
        run.report.is_complete, run.report.outage = False, str(outage)
    return run.report


def _read(run: _Run, next_of: Callable[[datetime], list[Blob]]) -> None:
    while batch := next_of(run.now):
        for blob in batch:
            if not run.has_time():
                return
            _check(run, blob)


def _next(now: datetime) -> list[Blob]:
    """Return blobs with a problem first, then those never read, then the longest unread."""
    new = Blob.objects.filter(state=State.READY, checked_at=None).order_by("pk")
    return _next_found(now) or list(new[:BATCH_SIZE]) or list(_earlier(now)[:BATCH_SIZE])


def _next_found(now: datetime) -> list[Blob]:
    return list(_earlier(now).exclude(problem="")[:BATCH_SIZE])


def _earlier(now: datetime) -> QuerySet[Blob]:
    return Blob.objects.filter(state=State.READY, checked_at__lt=now).order_by("checked_at", "pk")


def _check(run: _Run, blob: Blob) -> None:
    try:
        found = read_again(blob.digest, until=time.monotonic() + run.seconds)
    except (store.StorageUnavailable, _TooSlow) as why:
        _pass_over(run, blob, why)
        return
    run.unread_in_a_row = 0
    problem = Problem.NONE
    if found is None:
        problem = Problem.MISSING
    elif (found.hexdigest, found.size) != (blob.digest, blob.size):
        problem = Problem.DAMAGED
    # A removal marks the row before it deletes the bytes: then this finding means nothing.
    if not _ready(blob).update(checked_at=run.now, problem=problem):
        return
    report = run.report
    report.checked += 1
    report.bytes += blob.size
    if problem:
        report.missing += problem == Problem.MISSING
        report.damaged += problem == Problem.DAMAGED
        if report.missing + report.damaged <= MAX_NAMED:
            log.warning("blob_found", digest=blob.digest, problem=problem.value)
    elif blob.problem:
        report.healed += 1
        log.info("blob_healed", digest=blob.digest, problem=blob.problem)


def read_again(digest: str, *, until: float = inf) -> Tally | None:
    """Read a blob from storage now; None if nothing is there. `until` is by time.monotonic(); then it raises."""
    try:
        steps = store.read_unverified(digest)
    except store.Missing:
        return None
    tally = Tally()
    with closing(cast("Any", steps)):
        for step in steps:
            if time.monotonic() > until:
                raise _TooSlow("reading it takes longer than the time limit of a run")
            tally.update(step)
    return tally


def _pass_over(run: _Run, blob: Blob, why: Exception) -> None:
    """Skip this blob if it alone fails; raise StorageUnavailable if storage does.

    Otherwise one bad sector, or one blob too large, would stop every run at its start.
    """
    if isinstance(why, store.StorageUnavailable):
        store.ready()
    _ready(blob).update(checked_at=run.now)
    log.warning("blob_not_read", digest=blob.digest, size=blob.size, why=str(why))
    run.report.unread += 1
    run.unread_in_a_row += 1
    if run.unread_in_a_row >= MAX_UNREAD and isinstance(why, store.StorageUnavailable):
        raise why


def _ready(blob: Blob) -> QuerySet[Blob]:
    return Blob.objects.filter(pk=blob.pk, state=State.READY)


# --- Orphans: objects without a row, for example after an older database was restored -------------------------------
# A row is written before its bytes (`store.store_staged`), so an orphan is never an upload in progress.


def batches_without_row(*, now: datetime) -> Iterator[tuple[int, list[str]]]:
    """Go through storage; yield for each batch its number of objects and the digests without a row."""
    # Each day starts elsewhere, so that what one run has no time for has its turn on another day.
    first = now.toordinal() * 7 % len(_DIGITS)
    backend, before = backends.current(), now - store.STAGING_LIFETIME
    keys = chain.from_iterable(backend.older(f"sha256/{digit}", before) for digit in _DIGITS[first:] + _DIGITS[:first])
    digests = (found[2] for key in keys if (found := _BLOB.fullmatch(key)))
    while batch := list(islice(digests, LISTING_BATCH)):
        known = set(Blob.objects.filter(digest__in=batch).values_list("digest", flat=True))
        stored = [digest for digest in batch if digest not in known and store.size_of(digest) is not None]
        # Removal deletes the bytes, then the row, so a blob may have been listed before it and looked up after.
        yield len(batch), [digest for digest in stored if not Blob.objects.filter(digest=digest).exists()]


def remove_orphan(digest: str) -> bool:
    """Delete an orphan's bytes; return False if an upload has claimed them meanwhile.

    An upload of the same bytes could create the row, find the object in place, rely on it, and lose it. So the orphan
    gets a row first, in the state DELETING, and only one side can create the row of a digest. If the upload was first,
    its row is found here and nothing is touched. If this was first, the upload reads DELETING and is told to try again,
    while `store.remove` deletes the bytes and the row, or keeps them as an ordinary blob if they are referenced.

    If this process dies half-way, the row stays: uploads wait, and the hourly garbage collection finishes the removal.
    """
    size = store.size_of(digest)
    if size is None:
        return True
    with transaction.atomic(durable=True):
        _, is_mine = Blob.objects.get_or_create(digest=digest, defaults={"size": size, "state": State.DELETING})
    return is_mine and store.remove(digest)
