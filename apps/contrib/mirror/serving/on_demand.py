"""The fetches for edges, lock files and syncs: rows that are there, or a job that fetches them, and a request that
waits.

`by` is the number of the person who asked, `since` when, `until` the time of `time.monotonic()` up to which the request
can wait.
Each function returns at once if the rows are there; else it raises

- `jobs.waiting.NotYet` while there is time left;
- `errors.Refused` for what must not be trusted, or is not stored by a sealed upstream;
- NotFound for what the registry does not have, and Unavailable where it is away.
"""

import re
import time
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.models import Upstream, UpstreamPackage, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.records import failures, lists
from apps.contrib.mirror.records.failures import Row
from apps.contrib.mirror.serving.fetch_jobs import LIST, PACKAGE, SIZES, VERSION, enqueue, run_now, upstream_of
from apps.jobs.models import WORKING, Job
from apps.jobs.waiting import NotYet, Waiting
from apps.lib.errors import NotFound, Unavailable

__all__ = ["package_sizes", "package_with_bytes", "provider_with_list", "run_now", "version_with_record"]

# A refresh that takes longer is not waited for where an older list is known.
PATIENCE = timedelta(seconds=2)
# What clients accept between the slashes of an address; they send it in lower case.
_NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?")
_SEALED = "This mirror is in offline mode: it fetches nothing on demand, and an operator has not synced this."


def provider_with_list(
    upstream: Upstream,
    namespace: str,
    type: str,  # noqa: A002  # the word of clients
    *,
    by: int | None,
    until: float,
    since: datetime | None = None,
) -> UpstreamProvider:
    """Return the provider with a list that is fresh, or stale while the registry is away.

    `since`: when the request came. A list that was read for it is fresh, however short lists are kept.
    """
    if not (_NAME.fullmatch(namespace) and _NAME.fullmatch(type)):
        named = f"{upstream}/{namespace}/{type}"
        raise NotFound(f"{named} cannot be the address of a provider: clients accept no such name.")
    address: dict[str, Any] = {"upstream": upstream, "namespace": namespace, "type": type}
    known = UpstreamProvider.objects.select_related("upstream").filter(**address).first()
    if upstream.is_sealed and (known is None or known.listed_at is None):
        raise NotFound(f"{upstream}/{namespace}/{type} is not stored.", hint=_SEALED)
    provider = known or UpstreamProvider.objects.get_or_create(**address)[0]
    if upstream.is_sealed or lists.is_fresh(provider) or _is_read_since(provider, since):
        return provider
    if failures.is_paused(provider):
        if _is_usable(provider):
            return provider
        raise failures.error_of(provider, str(provider))
    enqueue(LIST, provider.pk, by)
    if _is_usable(provider):
        if time.monotonic() >= until or _takes_long(provider):
            return provider
        until = min(until, time.monotonic() + PATIENCE.total_seconds())
    raise _waiting(provider, _provider_tries, upstream, str(provider), until)


def refresh_list(provider: UpstreamProvider, *, by: int | None) -> None:
    """Have a stale list read again, and do not wait for it.

    Clients with a lock file ask for versions alone, and would never see the platforms that were added later.
    """
    if not (provider.upstream.is_sealed or lists.is_fresh(provider) or failures.is_paused(provider)):
        enqueue(LIST, provider.pk, by)


def version_with_record(
    version: UpstreamVersion, *, by: int | None, until: float, since: datetime | None = None
) -> UpstreamVersion:
    """Return the version with its verdict and packages."""
    if version.verdict:
        return version
    _require(VERSION, version, str(version), by, since)
    raise _waiting(version, _version_tries, version.provider.upstream, str(version), until)


def package_with_bytes(
    package: UpstreamPackage, *, by: int | None, until: float, since: datetime | None = None
) -> UpstreamPackage:
    """Return the package with its blob and `h1`."""
    if package.blob_id is not None:
        return package
    what = f"{package.version} {package.platform}"
    _require(PACKAGE, package, what, by, since)
    raise _waiting(package, _package_tries, package.version.provider.upstream, what, until)


def package_sizes(
    version: UpstreamVersion, *, by: int | None, until: float, since: datetime | None = None
) -> list[UpstreamPackage]:
    """Return the packages of a version with a record, each with its size."""
    packages = list(version.packages.select_related("blob").order_by("os", "arch"))
    if all(package.size is not None for package in packages):
        return packages
    _require(SIZES, version, str(version), by, since)
    raise _waiting(version, _version_tries, version.provider.upstream, str(version), until)


def _require(kind: str, row: Row, what: str, by: int | None, since: datetime | None) -> None:
    """Have a worker fetch it, unless that failed a moment ago."""
    if upstream_of(row).is_sealed:
        raise Refused(f"{what} is not stored.", hint=_SEALED)
    if failures.is_paused(row, since):
        raise failures.error_of(row, what)
    enqueue(kind, row.pk, by)


def _is_read_since(provider: UpstreamProvider, since: datetime | None) -> bool:
    return since is not None and provider.listed_at is not None and provider.listed_at >= since


def _is_usable(provider: UpstreamProvider) -> bool:
    """Return whether its last list may be served although it is not fresh."""
    lasts = timedelta(hours=provider.upstream.stale_hours)
    return provider.listed_at is not None and provider.listed_at > timezone.now() - lasts


def _takes_long(provider: UpstreamProvider) -> bool:
    before = timezone.now() - PATIENCE
    jobs = Job.objects.filter(kind=LIST, target=provider.pk, state__in=WORKING)
    return jobs.filter(created_at__lt=before).exists()


def _waiting(row: Row, states_of: "TriesOf", upstream: Upstream, what: str, until: float) -> NotYet | Unavailable:
    if time.monotonic() < until:
        return NotYet(Waiting(states_of, row.pk, (row.tries,), until))
    return Unavailable(
        f"{what} is still being fetched from {upstream.base_url}.",
        hint="Try again in a moment: fetched files are kept.",
        retry_after=5,
    )


class TriesOf:
    """The count of tries of each row: a request waits until that has grown. One for each model: asked once."""

    def __init__(self, model: type[UpstreamProvider | UpstreamVersion | UpstreamPackage]) -> None:
        self.model = model

    def __call__(self, rows: Collection[int]) -> Mapping[int, object]:
        found = self.model._default_manager.filter(pk__in=rows)  # noqa: SLF001  # Django's public name for it
        return dict(found.values_list("pk", "tries"))


_provider_tries = TriesOf(UpstreamProvider)
_version_tries = TriesOf(UpstreamVersion)
_package_tries = TriesOf(UpstreamPackage)
