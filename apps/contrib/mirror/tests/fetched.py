"""Steps of tests of lists, records and packages: ask like a client, and be the worker in between."""

import time
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.contrib.mirror.models import Upstream, UpstreamPackage, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.serving import fetch_jobs, on_demand
from apps.jobs.models import Job
from apps.jobs.waiting import NotYet, Waiting

PATIENCE = 30.0


def work() -> int:
    """Do what the threads of a worker would with each job that waits; return how many."""
    found = fetch_jobs.waiting()
    for job_id, _ in found:
        fetch_jobs.run_job(job_id)
    return len(found)


def work_for(asked: Waiting) -> None:
    """Do what this request waits for, and nothing that a worker begins ahead of requests."""
    for job_id, kind, target in Job.objects.filter(pk__in=[pk for pk, _ in fetch_jobs.waiting()]).values_list(
        "pk", "kind", "target"
    ):
        row = fetch_jobs.row_of(kind, target)
        if target == asked.row and (row is None or type(row) is asked.states_of.model):  # type: ignore[attr-defined]
            fetch_jobs.run_job(job_id)


def ask(question: Any, *given: Any, by: int | None = None) -> Any:
    """Ask until it is answered: what is not there yet is fetched in between."""
    for _ in range(5):
        try:
            return question(*given, by=by, until=time.monotonic() + PATIENCE)
        except NotYet as waits:
            waiting = waits.waiting
        work_for(waiting)
        if waiting.states_of([waiting.row])[waiting.row] in waiting.states:
            raise AssertionError("nobody wakes this request")
        fresh = given[0]
        if not isinstance(fresh, Upstream):
            given = (reread(fresh), *given[1:])
    raise AssertionError("it is fetched again and again")


def listed(upstream: Upstream, address: str = "acme/tool") -> UpstreamProvider:
    return ask(on_demand.provider_with_list, upstream, *address.split("/"))


def version(upstream: Upstream, number: str = "1.0.0", address: str = "acme/tool") -> UpstreamVersion:
    """A version of which nothing but its line in the list is known."""
    return UpstreamVersion.objects.select_related("provider__upstream").get(
        provider=listed(upstream, address), version=number
    )


def recorded(upstream: Upstream, number: str = "1.0.0", address: str = "acme/tool") -> UpstreamVersion:
    return ask(on_demand.version_with_record, version(upstream, number, address))


def package(
    upstream: Upstream, number: str = "1.0.0", platform: str = "linux_amd64", address: str = "acme/tool"
) -> UpstreamPackage:
    """A package of a verified version, without its bytes."""
    found = recorded(upstream, number, address)
    os, _, arch = platform.partition("_")
    return UpstreamPackage.objects.select_related("version__provider__upstream").get(version=found, os=os, arch=arch)


def stored(
    upstream: Upstream,
    number: str = "1.0.0",
    platform: str = "linux_amd64",
    address: str = "acme/tool",
    by: int | None = None,
) -> UpstreamPackage:
    return ask(on_demand.package_with_bytes, package(upstream, number, platform, address), by=by)


def reread(row: Any) -> Any:
    """Return the row as the next request finds it."""
    related = {
        UpstreamProvider: "upstream",
        UpstreamVersion: "provider__upstream",
        UpstreamPackage: "version__provider__upstream",
    }[type(row)]
    return type(row).objects.select_related(related).get(pk=row.pk)


def without_pauses() -> None:
    """Let the time after each failure be over."""
    for model in (UpstreamProvider, UpstreamVersion, UpstreamPackage):
        model.objects.update(retry_at=None)


def stale(provider: UpstreamProvider, **ago: Any) -> None:
    """Let its list have been read so long ago."""
    UpstreamProvider.objects.filter(pk=provider.pk).update(listed_at=timezone.now() - timedelta(**ago))


def jobs(kind: str) -> int:
    return Job.objects.filter(kind=kind).count()


def due_again() -> None:
    """Let the pause after an outage or the death of a worker be over."""
    Job.objects.filter(state__in=["queued", "running"]).update(not_before=None, lease_until=None)
