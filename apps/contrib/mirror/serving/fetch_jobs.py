"""The jobs that go out to a registry, in threads of the worker: one that hangs blocks neither its slots nor the others.

A job is claimed in its thread, with a lease and a fence (jobs/claims.py); a ring only wakes the threads up.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog
from django.conf import settings
from django.db.models import F
from django.utils import timezone

from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import Upstream, UpstreamPackage, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.policy import evaluation
from apps.contrib.mirror.records import failures, lists, packages, version_records
from apps.contrib.mirror.records.failures import Row
from apps.contrib.mirror.serving import counters
from apps.jobs import claims, queue
from apps.jobs.claims import Claim
from apps.jobs.models import WORKING, Job
from apps.jobs.threads import Threads
from apps.lib import versions

LIST, VERSION = "fetch-upstream-list", "fetch-upstream-version"
PACKAGE, SIZES = "fetch-upstream-package", "fetch-upstream-sizes"
# What clients wait for before they know what to download, in this order.
DOCUMENTS = (LIST, VERSION, SIZES)
KINDS = (*DOCUMENTS, PACKAGE)
THREADS = 16
BATCH_SIZE = 200
# Of the versions whose bytes are stored, those come first that were looked at longest ago: each has its turn.
MAX_LOOKS = 3
MAX_CHANGED = 20

Guard = Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Errand:
    """`by`: who asked, `since`: when, None for who does it at once."""

    by: int | None
    since: datetime | None
    guard: Guard


_ROWS: Mapping[str, tuple[type[Row], str]] = {
    LIST: (UpstreamProvider, "upstream"),
    VERSION: (UpstreamVersion, "provider__upstream"),
    SIZES: (UpstreamVersion, "provider__upstream"),
    PACKAGE: (UpstreamPackage, "version__provider__upstream"),
}

log = structlog.get_logger("larder.upstream")


def enqueue(kind: str, target: int, by: int | None) -> None:
    """Write the job unless one works on it: the constraint decides between many that ask at once."""
    if not _is_queued(kind, target):
        queue.enqueue_once(kind, target=target, created_by_id=by)


def _is_queued(kind: str, target: int) -> bool:
    return Job.objects.filter(kind=kind, target=target, state__in=WORKING).exists()


def run_now(kind: str, pk: int, *, by: int | None = None) -> None:
    """Do the work of one job in this thread. The row says how it ended; what is away raises as in `claims.OUTAGES`."""
    _work(kind, pk, _Errand(by, None, _unguarded))


def run_job(job_id: int) -> None:
    """Claim a job and do it. Errors end in its row."""
    with claims.claim(job_id) as held:
        if held is not None:
            by, created_at = Job.objects.values_list("created_by_id", "created_at").get(pk=held.job_id)
            if held.fence == 1:  # nobody had it before
                waited = (timezone.now() - created_at).total_seconds()
                counters.queue_duration.labels(_what(held.kind)).observe(max(0.0, waited))
            if held.exhausted:
                _give_up(held)
            else:
                changed = _work(held.kind, held.target, _Errand(by, created_at, held.guard))
                if held.kind == LIST:
                    for version in versions_due(held.target, changed):
                        enqueue(VERSION, version, by)


def _work(kind: str, pk: int, errand: _Errand) -> Collection[int]:
    """Return the versions that a list gave further platforms."""
    row = row_of(kind, pk)
    changed: Collection[int] = ()
    if row is None:
        return ()  # pruned or replaced meanwhile
    try:
        if not failures.is_paused(row, errand.since):
            with _counted(kind, upstream_of(row)):
                changed = _fetch(kind, row, errand)
    except FetchFailed as failure:
        log.warning("upstream_failed", kind=kind, target=str(row), **failure.as_json())
        failures.remember(row, failure)
    else:
        if failures.is_paused(row, errand.since):
            failures.go_on(row)
        else:
            failures.forget(row)
    return changed


def versions_due(provider: int, changed: Collection[int]) -> list[int]:
    """Return the versions to look at after a list was read, before a client asks for them.

    `changed`: those with platforms for which their sums have no line. A registry that replaces the bytes of a version
    says so in its sums alone, not in its list.
    """
    row = UpstreamProvider.objects.select_related("upstream").filter(pk=provider).first()
    if row is None or row.failure or row.listed_at is None:
        return []
    verified = row.versions.exclude(verdict="")
    if not verified.exists():
        return _newest(row)
    stored = verified.filter(is_listed=True, packages__blob__isnull=False).exclude(pk__in=changed)
    longest_ago = stored.order_by(F("tried_at").asc(nulls_first=True), "pk").values_list("pk", flat=True).distinct()
    return [*sorted(changed, reverse=True)[:MAX_CHANGED], *longest_ago[:MAX_LOOKS]]


def _newest(provider: UpstreamProvider) -> list[int]:
    """Return the version that a client without constraints installs: it asks for that next."""
    decisions = evaluation.decisions(provider, now=timezone.now())
    shown = [version for version, decision in decisions.items() if decision.is_visible]
    released = [version for version in shown if not versions.parse(version.version).is_prerelease] or shown
    return [version.pk for version in released[:1] if not version.failure]  # the highest comes first


@contextmanager
def _counted(kind: str, upstream: Upstream) -> Iterator[None]:
    """Count one try, and how long it took."""
    began, outcome = time.monotonic(), "error"
    try:
        yield
        outcome = "done"
    except failures.Distrusted:
        outcome = "refused"
        raise
    except FetchFailed:
        outcome = "failed"
        raise
    finally:
        counters.fetches.labels(upstream.host, _what(kind), outcome).inc()
        counters.fetch_duration.labels(_what(kind)).observe(time.monotonic() - began)


def _what(kind: str) -> str:
    """`list`, `version`, `package` or `sizes`."""
    return kind.rpartition("-")[2]


def _fetch(kind: str, row: Row, errand: _Errand) -> Collection[int]:
    """Raises FetchFailed."""
    guard = errand.guard
    upstream = upstream_of(row)
    if not upstream.is_enabled:
        text = f"{upstream} was switched off"
        raise FetchFailed("switched_off", text, url=upstream.base_url, rule="is_enabled", is_final=True)
    if isinstance(row, UpstreamProvider):
        # Another job may have read it while this one waited.
        return () if lists.is_fresh(row) else lists.refresh(row, guard)
    if isinstance(row, UpstreamPackage):
        packages.fetch(row, guard, by=errand.by)
    elif kind == SIZES:
        packages.size_up(row, guard)
    elif not row.verdict:
        version_records.fetch(row, guard)
    elif errand.since is not None and row.verified_at is not None and row.verified_at < errand.since:
        version_records.look_again(row, guard)
    return ()


def upstream_of(row: Row) -> Upstream:
    if isinstance(row, UpstreamProvider):
        return row.upstream
    provider = row.provider if isinstance(row, UpstreamVersion) else row.version.provider
    return provider.upstream


def row_of(kind: str, pk: int) -> Row | None:
    """Return what a job works on, None if it is gone."""
    model, path = _ROWS[kind]
    found: Row | None = model._default_manager.select_related(path).filter(pk=pk).first()  # noqa: SLF001  # as below
    return found


def _give_up(held: Claim) -> None:
    """All attempts ended in an error of Larder's own, or with the death of the worker."""
    row = row_of(held.kind, held.target)
    if row is not None:
        message = "Larder could not fetch it: each attempt failed with an internal error; see the log"
        failures.remember(row, FetchFailed("internal", message, url="", rule="attempts", is_final=True))


def _unguarded() -> None:
    """There is no lease: nothing else does this work, or it does the same."""


def waiting(kinds: Collection[str] = KINDS) -> list[tuple[int, int]]:
    """Return (job, upstream) of the jobs that may be claimed: of each kind in turn, the oldest first.

    Each kind by itself: hundreds of packages hide no list.
    """
    found: list[tuple[int, int]] = []
    for kind in kinds:
        queued = Job.objects.claimable().filter(kind=kind).order_by("pk")
        jobs = list(queued.values_list("pk", "target")[:BATCH_SIZE])
        if jobs:
            model, path = _ROWS[kind]
            rows = model._default_manager.filter(pk__in=[target for _, target in jobs])  # noqa: SLF001  # public name
            upstreams = dict(rows.values_list("pk", path))
            # A job whose row is gone ends when it is run.
            found += [(pk, upstreams.get(target, 0)) for pk, target in jobs]
    return found


def threads_for(run: Callable[[int], object], kinds: Collection[str] = DOCUMENTS) -> Threads:
    """At most THREADS, and for one registry as many as it gets connections.

    Packages have threads of their own: a download that waits for a connection keeps no document from one.
    """
    share = lambda: settings.UPSTREAM.connections  # noqa: E731
    return Threads("upstream", partial(waiting, kinds), run, most=THREADS, share=share, goes_on=True)


threads, package_threads = threads_for(run_job), threads_for(run_job, (PACKAGE,))
