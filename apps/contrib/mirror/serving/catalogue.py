"""Pages about mirrored providers: lists, versions with the decisions of the policy, packages.

Clients read `answers.py`. Here versions that are held back are shown too, with the rule and the date.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import PolicyException, UpstreamPackage, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.policy.evaluation import COLUMNS, Decision, Policy, exceptions_of, platform_decisions
from apps.lib import versions
from apps.lib.errors import Invalid, NotFound
from apps.signing import foreign

MAX_WORDS = 5
# So many of the highest versions are looked at for one that clients see.
_LOOKED_AT = 100
_HIGHEST = 10  # of each provider, for lists


@dataclass(frozen=True, slots=True)
class Listed:
    """A provider in a list. `newest`: the highest version that clients get; `held_back`: a higher one, or ""."""

    provider: UpstreamProvider
    versions: int
    newest: str
    held_back: str

    @property
    def host(self) -> str:
        return self.provider.upstream.host

    @property
    def address(self) -> str:
        return self.provider.address


@dataclass(frozen=True, slots=True)
class Decided:
    """A version with what policy says; `stored` of its packages have verified bytes here."""

    version: UpstreamVersion
    decision: Decision
    packages: int
    stored: int

    @property
    def reaches_clients(self) -> bool:
        return self.decision.is_visible and (self.version.is_listed or bool(self.version.verdict and self.stored))


def providers_for(viewer: Viewer, words: str = "", *, host: str = "") -> QuerySet[UpstreamProvider]:
    """Return the mirrored providers that the viewer sees; each word is a part of host, namespace or type."""
    seen = upstreams.visible_to(viewer).order_by()
    rows = UpstreamProvider.objects.known().filter(upstream__in=seen.values("pk"))
    if host:
        rows = rows.filter(upstream__host=host)
    for word in words.replace("/", " ").split()[:MAX_WORDS]:
        part = Q(namespace__icontains=word) | Q(type__icontains=word) | Q(upstream__host__icontains=word)
        rows = rows.filter(part)
    return rows.select_related("upstream").order_by("type", "namespace", "upstream__host")


def providers_of(viewer: Viewer, host: str, words: str = "") -> QuerySet[UpstreamProvider]:
    """Return those of one upstream. Raises UnknownOrPrivate and NotFound."""
    return providers_for(viewer, words, host=upstreams.upstream_for(viewer, host).host)


def listed(providers: Iterable[UpstreamProvider]) -> list[Listed]:
    """Return rows of a list: a few queries for the page, and one for each upstream on it."""
    page, now = list(providers), timezone.now()
    keys = [one.pk for one in page]
    by_provider = Window(RowNumber(), partition_by="provider", order_by=F("sort_key").desc())
    offered = UpstreamVersion.objects.filter(provider__in=keys).offered()
    # The places by their keys alone: all versions of the page are sorted for them.
    places = offered.annotate(place=by_provider).filter(place__lte=_HIGHEST).order_by().values("pk")
    theirs = UpstreamVersion.objects.filter(provider__in=keys)  # or PostgreSQL may read the versions of all
    highest = list(theirs.filter(pk__in=places).only(*COLUMNS).order_by("provider", "-sort_key"))
    counted = offered.values("provider").order_by()
    numbers = dict(counted.annotate(number=Count("pk")).values_list("provider", "number"))
    exceptions = exceptions_of(PolicyException.objects.filter(version__in=[row.pk for row in highest]), now=now)
    policies = {one.upstream_id: Policy.of(one.upstream) for one in {row.upstream_id: row for row in page}.values()}
    found = []
    for one in page:
        policy = policies[one.upstream_id].for_address(one.address)
        mine = [row for row in highest if row.provider_id == one.pk]
        seen = [row for row in mine if policy.decide(row, now=now, exception=exceptions.get(row.pk)).is_visible]
        newest = _preferred(seen)
        hidden = _preferred([row for row in mine if row not in seen])
        is_newer = hidden is not None and (newest is None or bytes(hidden.sort_key) > bytes(newest.sort_key))
        found.append(
            Listed(
                one,
                numbers.get(one.pk, 0),
                newest.version if newest else "",
                hidden.version if hidden and is_newer else "",
            )
        )
    return found


def provider_for(viewer: Viewer, host: str, namespace: str, kind: str) -> UpstreamProvider:
    """Raises UnknownOrPrivate and NotFound, for hidden upstreams and missing ones alike."""
    upstream = upstreams.upstream_for(viewer, host)
    rows = UpstreamProvider.objects.known().filter(upstream=upstream, namespace=namespace, type=kind)
    found = rows.select_related("upstream").first()
    if found is None:
        raise NotFound(
            f"No client has requested {upstream.host}/{namespace[:64]}/{kind[:64]} from this mirror yet.",
            hint="Larder knows a provider once a client, a lock file or a sync has requested it.",
        )
    return found


def versions_of(provider: UpstreamProvider) -> QuerySet[UpstreamVersion]:
    """Return all of them, highest first, with those that the registry no longer lists."""
    return provider.versions.select_related("key").defer("sums", "signature", "key__armor").order_by("-sort_key")


def decided(provider: UpstreamProvider, rows: Sequence[UpstreamVersion]) -> list[Decided]:
    """Return what policy says of these rows of `versions_of`. Three queries."""
    now, keys = timezone.now(), [row.pk for row in rows]
    policy = Policy.of(provider.upstream).for_address(provider.address)
    exceptions = exceptions_of(PolicyException.objects.filter(version__in=keys), now=now)
    counted = UpstreamPackage.objects.filter(version__in=keys).values("version").order_by()
    counts = {
        one["version"]: (one["number"], one["stored"])
        for one in counted.annotate(number=Count("pk"), stored=Count("blob"))
    }
    return [
        Decided(
            row,
            policy.decide(row, now=now, exception=exceptions.get(row.pk)),
            *counts.get(row.pk, (0, 0)),
        )
        for row in rows
    ]


def decided_with(version: UpstreamVersion, decision: Decision, packages: Sequence[UpstreamPackage]) -> Decided:
    """One version whose packages were read."""
    return Decided(version, decision, len(packages), sum(one.blob_id is not None for one in packages))


def newest_for_clients(provider: UpstreamProvider) -> UpstreamVersion | None:
    """Return the highest version that is listed or stored and not held back, no pre-release if there is another one."""
    rows = list(provider.versions.all().offered().only(*COLUMNS).order_by("-sort_key")[:_LOOKED_AT])
    seen = [one.version for one in decided(provider, rows) if one.decision.is_visible]
    return _preferred(seen)


def _preferred(rows: Sequence[UpstreamVersion]) -> UpstreamVersion | None:
    """The highest that is no pre-release, which clients take only where it is named."""
    return next((row for row in rows if not versions.parse(row.version).is_prerelease), next(iter(rows), None))


def version_for(viewer: Viewer, host: str, namespace: str, kind: str, version: str) -> UpstreamVersion:
    """Return the version, in any spelling of equal precedence. Raises as `provider_for`."""
    provider = provider_for(viewer, host, namespace, kind)
    found = None
    with suppress(Invalid):
        found = provider.versions.filter(sort_key=versions.sort_key(version)).select_related("key").first()
    if found is None:
        raise NotFound(f"{provider} has no version {version[:64]!r} that Larder knows.", hint="See its versions.")
    found.provider = provider
    return found


def weakness_of(version: UpstreamVersion) -> str:
    """Return how its signature proves less than others, such as "made with SHA-1"; empty if it does not."""
    try:
        return foreign.weakness_in(bytes(version.signature)) if version.key_id else ""
    except foreign.NotSigned:  # of rows that tests and older versions wrote
        return ""


def packages_of(version: UpstreamVersion) -> list[UpstreamPackage]:
    return list(version.packages.select_related("fetched_by", "blob").order_by("os", "arch"))


def decisions_by_platform(version: UpstreamVersion) -> dict[str, Decision]:
    """By platform, and of the version under ""."""
    now = timezone.now()
    named = [f"{os}_{arch}" for os, arch in version.platforms]
    return platform_decisions(version, ["", *named], now=now)
