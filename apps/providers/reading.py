"""Read providers through the gate."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone

from apps.accounts.access import gate, operators
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role
from apps.lib.addresses import ProviderAddress, canonical, hosted_provider
from apps.lib.errors import NotFound
from apps.providers import listing
from apps.providers.listing import ListedVersion
from apps.providers.models import Package, Provider, ProviderQuerySet, ProviderVersion
from apps.providers.signatures import trust
from apps.providers.signatures.trust import PublicKey
from apps.releases.catalogue.reading import no_version, sort_key_of
from apps.releases.models import Kind, Release, ReleaseQuerySet, State


def visible_providers(viewer: Viewer) -> ProviderQuerySet:
    return Provider.objects.filter(namespace__in=gate.visible_namespaces(viewer))


def hosted_providers(viewer: Viewer, sources: Iterable[str]) -> dict[str, ProviderAddress]:
    """The providers of this registry among `source` values of configurations, by source; at most one query."""
    hosts = (settings.PUBLIC_HOST, *settings.HOSTNAMES)
    named = {source: address for source in sources if (address := hosted_provider(source, hosts))}
    found = visible_among(viewer, named.values())
    return {source: found[str(address)] for source, address in named.items() if str(address) in found}


def visible_among(viewer: Viewer, addresses: Iterable[ProviderAddress]) -> dict[str, ProviderAddress]:
    """The providers that the viewer sees, by their address as configurations write it; at most one query."""
    named = list(addresses)
    if not named:
        return {}
    # Two lists, not pairs: a module may require thousands, and SQLite limits the depth of a condition.
    rows = visible_providers(viewer).filter(
        namespace__canonical__in={address.namespace for address in named}, type__in={address.type for address in named}
    )
    return {provider.address.source: provider.address for provider in rows.select_related("namespace")}


def provider_for(viewer: Viewer, address: ProviderAddress) -> Provider:
    """Raises CredentialsRequired, or NotFound, also for a name that no row can have."""
    return provider_and_role(viewer, address)[0]


def provider_and_role(viewer: Viewer, address: ProviderAddress, *, need: Role = Role.READER) -> tuple[Provider, Role]:
    namespace, role = _namespace_and_role(viewer, address, need)
    provider = Provider.objects.filter(namespace=namespace, type=address.type).select_related("namespace").first()
    if provider is None:
        raise _no_provider(address)
    return provider, role


def version_for(
    viewer: Viewer, address: ProviderAddress, version: str, *, even_quarantined: bool = False
) -> ProviderVersion:
    """The version equal to `version` by precedence, with its packages and its key. Includes yanked versions.

    Quarantined versions are not found, except by staff (`even_quarantined`) for pages that say so and serve no bytes.
    """
    return version_of(viewer, provider_for(viewer, address), version, even_quarantined=even_quarantined)


def version_of(viewer: Viewer, provider: Provider, version: str, *, even_quarantined: bool = False) -> ProviderVersion:
    """As `version_for`, of a provider that the gate let the viewer see."""
    address = provider.address
    rows = ProviderVersion.objects.filter(provider=provider, release__sort_key=sort_key_of(address, version))
    if not (even_quarantined and operators.is_operator(viewer)):
        rows = rows.published()
    people = ("created_by", "lifecycle_by", "quarantined_by")
    related = ("key", "provider__namespace", "release__namespace", *(f"release__{one}" for one in people))
    version_row = rows.select_related(*related).prefetch_related(_packages()).first()
    if version_row is None:
        raise no_version(address, version, coordinate_of(address, version))
    return version_row


def listed_versions(viewer: Viewer, address: ProviderAddress) -> list[ListedVersion]:
    """Every listed version, highest first by SemVer precedence, each with its platforms and its key.

    Two queries. If all versions are yanked the list is empty: clients report that the provider has no versions.
    """
    namespace, _ = _namespace_and_role(viewer, address)
    rows = ProviderVersion.objects.published().filter(provider__namespace=namespace, provider__type=address.type)
    versions = listing.listed(rows)
    if not versions and not rows.exists():
        raise _no_provider(address)
    return versions


def package_for(viewer: Viewer, address: ProviderAddress, version: str, os: str, arch: str) -> Package:
    """One platform's zip, with its version. Two queries."""
    namespace, rows = _packages_of(viewer, address, version)
    return _one(_in(list(rows), namespace), f"{address} {version}", (os, arch))


class Download(NamedTuple):
    """One platform's zip with its version, the keys to verify it with, and the zips of all platforms where wanted."""

    package: Package
    keys: list[PublicKey]
    all_packages: list[Package]


def download_for(
    viewer: Viewer, address: ProviderAddress, version: str, platform: tuple[str, str], *, with_all: bool, now: datetime
) -> Download:
    """For a client's download. Two queries."""
    namespace, rows = _packages_of(viewer, address, version)
    wanted = rows if with_all else rows.filter(os=platform[0], arch=platform[1])
    packages, keys = trust.with_keys(wanted, now)
    package = _one(_in(packages, namespace), f"{address} {version}", platform)
    return Download(package, keys, packages if with_all else [])


def packages_for(viewer: Viewer, address: ProviderAddress, version: str) -> list[Package]:
    """The zips of all platforms, for the mirror; empty for an unknown version. Two queries."""
    namespace, rows = _packages_of(viewer, address, version)
    return _in(list(rows), namespace)


# Columns that a download needs: naming all columns of four tables takes Django longer than the query.
_SERVED = (
    *("os", "arch", "filename", "digest", "size", "h1"),
    *(f"version__{column}" for column in ("protocols", "signing", "key", "sums_digest", "signature_digest")),
    *("version__provider__type", "version__provider__namespace"),
    *("version__release__version", "version__release__namespace"),
)


def _packages_of(viewer: Viewer, address: ProviderAddress, version: str) -> tuple[Namespace, QuerySet[Package]]:
    namespace, _ = _namespace_and_role(viewer, address)
    rows = Package.objects.filter(
        version__provider__namespace=namespace,
        version__provider__type=address.type,
        version__release__sort_key=sort_key_of(address, version),
        version__release__quarantined_at=None,
    )
    return namespace, rows.select_related("version__release", "version__provider").only(*_SERVED)


def _one(packages: list[Package], what: str, platform: tuple[str, str]) -> Package:
    found = next((one for one in packages if (one.os, one.arch) == platform), None)
    if found is None:
        raise NotFound(f"There is no package of {what} for {'_'.join(platform)}.")
    return found


def _in(packages: list[Package], namespace: Namespace) -> list[Package]:
    for package in packages:
        package.version.release.namespace = package.version.provider.namespace = namespace
    return packages


def latest_release(viewer: Viewer, address: ProviderAddress, version: str) -> Release:
    """The newest release of an exact version in any state, for scripts that poll their draft (D24)."""
    # With the name: a token that publishes only this provider may see more than a reader.
    _, role = gate.namespace_and_role(viewer, address.namespace, only_name=address.type)
    rows = Release.objects.filter(coordinate_of(address, version))
    if role == Role.READER:
        rows = rows.published() | rows.removed()
    release = rows.select_related("namespace", "lifecycle_by").order_by("-pk").first()
    if release is None:
        raise NotFound(f"There is no version {version} of {address}.")
    return release


def draft_for(viewer: Viewer, address: ProviderAddress, version: str) -> Release:
    """The release that has this number now, for its publishers: a draft, in progress, or published."""
    gate.namespace_for(viewer, address.namespace, need=Role.PUBLISHER, only_name=address.type)
    rows = Release.objects.live().filter(coordinate_of(address, version))
    release = rows.select_related("namespace").first()
    if release is None:
        raise NotFound(
            f"There is no draft of {address} {version}.", hint="Open one with a POST to the version's own address."
        )
    return release


def open_drafts(viewer: Viewer) -> ReleaseQuerySet:
    """Drafts that the viewer may see, newest first; only the person who opened a draft can continue it."""
    namespaces = gate.namespaces_with_role(viewer, Role.PUBLISHER)
    rows = Release.objects.filter(kind=Kind.PROVIDER, state=State.RECEIVING, receiving_until__gt=timezone.now())
    drafts = rows.filter(namespace__in=namespaces).select_related("namespace", "created_by")
    return drafts.order_by("-created_at", "-pk")


def coordinate_of(address: ProviderAddress, version: str) -> Q:
    """Releases with this number, in any state. Asks no gate: the caller must have done so."""
    return Q(
        kind=Kind.PROVIDER,
        namespace__canonical=canonical(address.namespace),
        name=address.type,
        sort_key=sort_key_of(address, version),
    )


def _namespace_and_role(viewer: Viewer, address: ProviderAddress, need: Role = Role.READER) -> tuple[Namespace, Role]:
    spelled = canonical if address.is_folded else str
    return gate.namespace_and_role(viewer, address.namespace, need=need, only_name=address.type, spelled=spelled)


def _packages() -> Prefetch[str]:
    return Prefetch("packages", Package.objects.order_by("os", "arch"))


def _no_provider(address: ProviderAddress) -> NotFound:
    return NotFound(f"There is no provider {address.type} in {address.namespace}.")
