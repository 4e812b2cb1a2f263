"""The jobs that go out to a registry, in threads of the worker: one that hangs blocks neither its slots nor the others.

A job is claimed in its thread, with a lease and a fence (jobs/claims.py); a ring only wakes the threads up.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
from django.conf import settings
from django.utils import timezone

from apps.jobs import claims
from apps.jobs.claims import Claim
from apps.jobs.models import Job
from apps.jobs.threads import Threads
from apps.lib.process import metrics
from apps.upstream import failures, lists, packages, records
from apps.upstream.errors import FetchFailed
from apps.upstream.failures import Row
from apps.upstream.models import Upstream, UpstreamPackage, UpstreamProvider, UpstreamVersion

LIST, VERSION = "fetch-upstream-list", "fetch-upstream-version"
PACKAGE, SIZES = "fetch-upstream-package", "fetch-upstream-sizes"
KINDS = (LIST, VERSION, PACKAGE, SIZES)
THREADS = 16
BATCH_SIZE = 200

Guard = Callable[[], None]

log = structlog.get_logger("larder.upstream")


def run_now(kind: str, pk: int, *, by: int | None = None) -> None:
    """Do the work of one job in this thread. The row says how it ended; what is away raises as in `claims.OUTAGES`."""
    _work(kind, pk, by, _unguarded)


def run_job(job_id: int) -> None:
    """Claim a job and do it. Errors end in its row."""
    with claims.claim(job_id) as held:
        if held is not None:
            by, created_at = Job.objects.values_list("created_by_id", "created_at").get(pk=held.job_id)
            if held.fence == 1:  # nobody had it before
                waited = (timezone.now() - created_at).total_seconds()
                metrics.upstream_queue_duration.labels(_what(held.kind)).observe(max(0.0, waited))
            if held.exhausted:
                _give_up(held)
            else:
                _work(held.kind, held.target, by, held.guard)


def _work(kind: str, pk: int, by: int | None, guard: Guard) -> None:
    row = row_of(kind, pk)
    if row is None:
        return  # pruned or replaced meanwhile
    try:
        if not failures.is_paused(row):
            with _counted(kind, upstream_of(row)):
                _fetch(kind, row, by, guard)
    except FetchFailed as failure:
        log.warning("upstream_failed", kind=kind, target=str(row), **failure.as_json())
        failures.remember(row, failure)
    else:
        if failures.is_paused(row):
            failures.go_on(row)
        else:
            failures.forget(row)


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
        metrics.upstream_fetches.labels(upstream.host, _what(kind), outcome).inc()
        metrics.upstream_fetch_duration.labels(_what(kind)).observe(time.monotonic() - began)


def _what(kind: str) -> str:
    """`list`, `version`, `package` or `sizes`."""
    return kind.rpartition("-")[2]


def _fetch(kind: str, row: Row, by: int | None, guard: Guard) -> None:
    upstream = upstream_of(row)
    if not upstream.is_enabled:
        text = f"{upstream} was switched off"
        raise FetchFailed("switched_off", text, url=upstream.base_url, rule="is_enabled", is_final=True)
    if isinstance(row, UpstreamProvider):
        # Another job may have read it while this one waited.
        if not lists.is_fresh(row):
            lists.refresh(row, guard)
    elif isinstance(row, UpstreamPackage):
        packages.fetch(row, guard, by=by)
    elif kind == SIZES:
        packages.size_up(row, guard)
    else:
        records.fetch(row, guard)


def upstream_of(row: Row) -> Upstream:
    if isinstance(row, UpstreamProvider):
        return row.upstream
    provider = row.provider if isinstance(row, UpstreamVersion) else row.version.provider
    return provider.upstream


def row_of(kind: str, pk: int) -> Row | None:
    """Return what a job works on, None if it is gone."""
    if kind == LIST:
        return UpstreamProvider.objects.select_related("upstream").filter(pk=pk).first()
    if kind == PACKAGE:
        return UpstreamPackage.objects.select_related("version__provider__upstream").filter(pk=pk).first()
    return UpstreamVersion.objects.select_related("provider__upstream").filter(pk=pk).first()


def _give_up(held: Claim) -> None:
    """All attempts ended in an error of Larder's own, or with the death of the worker."""
    row = row_of(held.kind, held.target)
    if row is not None:
        message = "Larder could not fetch it: each attempt ended with an internal error, which is in the log"
        failures.remember(row, FetchFailed("internal", message, url="", rule="attempts", is_final=True))


def _unguarded() -> None:
    """There is no lease: nothing else does this work, or it does the same."""


def waiting() -> list[tuple[int, int]]:
    """Return (job, upstream) of the jobs that may be claimed, the oldest first, in four queries."""
    jobs = list(
        Job.objects.claimable().filter(kind__in=KINDS).order_by("pk").values_list("pk", "kind", "target")[:BATCH_SIZE]
    )
    found: dict[tuple[str, int], int] = {}
    paths = {
        LIST: (UpstreamProvider, "upstream"),
        VERSION: (UpstreamVersion, "provider__upstream"),
        SIZES: (UpstreamVersion, "provider__upstream"),
        PACKAGE: (UpstreamPackage, "version__provider__upstream"),
    }
    for kind, (model, path) in paths.items():
        targets = [target for _, one, target in jobs if one == kind]
        if targets:
            rows = model._default_manager.filter(pk__in=targets)  # noqa: SLF001  # Django's public name for it
            found |= {(kind, pk): upstream for pk, upstream in rows.values_list("pk", path)}
    # A job whose row is gone ends when it is run.
    return [(pk, found.get((kind, target), 0)) for pk, kind, target in jobs]


def threads_for(run: Callable[[int], object]) -> Threads:
    """At most THREADS, and for one registry as many as it gets connections."""
    share = lambda: settings.UPSTREAM.connections  # noqa: E731
    return Threads("upstream", waiting, run, most=THREADS, share=share, goes_on=True)


threads = threads_for(run_job)
