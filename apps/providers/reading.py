"""Read providers through the gate."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import (
    BigIntegerField,
    BinaryField,
    CharField,
    DateTimeField,
    Exists,
    F,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
)
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role
from apps.jobs.compiled_queries import CompiledQuery, Slot
from apps.lib.addresses import ProviderAddress, canonical, hosted_provider
from apps.lib.errors import NotFound, existing
from apps.providers.joined_platforms import Joined, split
from apps.providers.models import (
    FormerSignature,
    Package,
    Provider,
    ProviderQuerySet,
    ProviderVersion,
    ProviderVersionQuerySet,
)
from apps.releases.catalogue.reading import latest_of, no_version, sort_key_of, with_people
from apps.releases.cooldown import Shown, require_visible, shown
from apps.releases.models import Kind, Release, ReleaseQuerySet, State
from apps.signing.models import SigningKey
from apps.signing.models import State as KeyState

# Warn users of a key this long before it expires.
AHEAD = timedelta(days=60)


class PublicKey(NamedTuple):
    """A key as clients get it."""

    key_id: str
    armor: str
    source: str
    source_url: str


class Key(NamedTuple):
    """The key that signed a version, for lists."""

    pk: int
    key_id: str
    state: str
    expires_at: datetime | None
    reason: str


class ListedVersion(NamedTuple):
    version: str
    published_at: datetime
    protocols: list[str]
    lifecycle: str
    lifecycle_reason: str
    lifecycle_replacement: str
    notice: str  # the provider's
    source_url: str  # the provider's
    visible_at: datetime | None
    key: Key
    platforms: list[tuple[str, str]]


class Download(NamedTuple):
    """One platform's zip with its version, the keys to verify it with, and the zips of all platforms where wanted."""

    package: Package
    keys: list[PublicKey]
    all_packages: list[Package]


_KEYS = "version__provider__namespace__signing_keys"
_OF_SIGNER = {f"signer_{column}": F(f"{_KEYS}__{column}") for column in ("custody", "state", "expires_at", "added_at")}
_SERVED_KEY = {f"signer_{column}": F(f"{_KEYS}__{column}") for column in PublicKey._fields}
_OF_KEY = ("key_id", "key__key_id", "key__state", "key__expires_at", "key__reason")
_OF_VERSION = (
    "release__version",
    "release__published_at",
    "protocols",
    *(f"release__lifecycle{column}" for column in ("", "_reason", "_replacement")),
    "provider__notice",
    "provider__source_url",
    "release__visible_at",
)
# Columns that a download needs: naming all columns of four tables takes Django longer than the query.
_SERVED = (
    *("os", "arch", "filename", "digest", "size", "h1"),
    *(f"version__{column}" for column in ("protocols", "signing", "key", "sums_digest", "signature_digest")),
    *("version__provider__type", "version__provider__namespace"),
    *("version__release__version", "version__release__namespace", "version__release__visible_at"),
)


_NAMESPACE, _TYPE, _SORT_KEY = (
    Slot("namespace", BigIntegerField()),
    Slot("type", CharField()),
    Slot("sort_key", BinaryField()),
)


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
    """Return the version like `version_for`, of a provider that the gate let the viewer see."""
    address = provider.address
    rows = ProviderVersion.objects.filter(provider=provider, release__sort_key=sort_key_of(address, version))
    rows = with_people(rows, viewer, even_quarantined=even_quarantined).select_related("key", "provider__namespace")
    version_row = rows.prefetch_related(Prefetch("packages", Package.objects.order_by("os", "arch"))).first()
    if version_row is None:
        raise no_version(address, version, coordinate_of(address, version))
    return version_row


def listed_versions(viewer: Viewer, address: ProviderAddress) -> Shown[ListedVersion]:
    """Every listed version, highest first by SemVer precedence, each with its platforms and its key.

    Two queries. If all versions are yanked the list is empty: clients report that the provider has no versions.
    """
    return listed_in(_namespace_and_role(viewer, address)[0], address)


def listed_in(namespace: Namespace, address: ProviderAddress) -> Shown[ListedVersion]:
    """Return the versions like `listed_versions`, where the gate was asked."""
    versions = _listed(_LISTED(namespace=namespace.pk, type=address.type))
    if not versions:
        rows = ProviderVersion.objects.published().filter(provider__namespace=namespace, provider__type=address.type)
        if not rows.exists():
            raise _no_provider(address)
    return shown(versions, _visible_at)


def latest_version(viewer: Viewer, address: ProviderAddress) -> ProviderVersion:
    """The default version. Raises NotFound if none is listed."""
    provider = provider_for(viewer, address)
    rows = ProviderVersion.objects.listed().filter(provider=provider).default_first()
    version = rows.select_related("provider__namespace", "release__namespace").first()
    return existing(version, f"There is no provider {address.type} with a listed version in {address.namespace}.")


def package_for(viewer: Viewer, address: ProviderAddress, version: str, os: str, arch: str) -> Package:
    """One platform's zip, with its version. Two queries."""
    return _one(packages_for(viewer, address, version), f"{address} {version}", (os, arch))


def download_for(
    viewer: Viewer, address: ProviderAddress, version: str, platform: tuple[str, str], *, with_all: bool, now: datetime
) -> Download:
    """For a client's download. Two queries."""
    namespace, _ = _namespace_and_role(viewer, address)
    return download_in(namespace, address, version, platform, with_all=with_all, now=now)


def download_in(
    namespace: Namespace,
    address: ProviderAddress,
    version: str,
    platform: tuple[str, str],
    *,
    with_all: bool,
    now: datetime,
) -> Download:
    """Return the download like `download_for`, where the gate was asked: one query, with a row for each package and
    key.

    The key that signed the version comes first, then others, the newest first: those of earlier signatures, and good
    keys of the same custody. Clients try one after the other, so a copy of an earlier signature still finds its key.
    Expired and retired keys stay: clients accept their signatures, and a rotation must not break lock files. Revoked
    keys are left out, so that clients refuse what they signed.
    """
    values = _named(namespace, address, version)
    if with_all:
        rows = _ALL_WITH_KEYS(now=now, **values)
    else:
        rows = _ONE_WITH_KEYS(now=now, os=platform[0], arch=platform[1], **values)
    packages = _in(list({row.pk: row for row in rows}.values()), namespace)
    _require_visible(packages, address)
    package = _one(packages, f"{address} {version}", platform)
    first = [row for row in rows if row.pk == rows[0].pk and row.signer_state != KeyState.REVOKED]
    signers = sorted(first, key=lambda row: row.signer != row.version.key_id)
    keys = [PublicKey._make(getattr(row, f"signer_{column}") for column in PublicKey._fields) for row in signers]
    return Download(package, keys, packages if with_all else [])


def packages_for(viewer: Viewer, address: ProviderAddress, version: str) -> list[Package]:
    """The zips of all platforms, for the mirror; empty for an unknown version. Two queries. Raises HeldBack as well."""
    namespace, _ = _namespace_and_role(viewer, address)
    packages = _in(_PACKAGES(**_named(namespace, address, version)), namespace)
    _require_visible(packages, address)
    return packages


def _require_visible(packages: list[Package], address: ProviderAddress) -> None:
    """Raise HeldBack for the packages of a version that clients do not see yet."""
    for package in packages[:1]:
        release = package.version.release
        require_visible(release, what=f"{address} {release.version}")


def _named(namespace: Namespace, address: ProviderAddress, version: str) -> dict[str, Any]:
    """The values that name a version in a statement."""
    return {"namespace": namespace.pk, "type": address.type, "sort_key": sort_key_of(address, version)}


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
    _, role = _namespace_and_role(viewer, address)
    return latest_of(coordinate_of(address, version), role, f"There is no version {version} of {address}.")


def draft_for(viewer: Viewer, address: ProviderAddress, version: str) -> Release:
    """The release that has this number now, for its publishers: a draft, in progress, or published."""
    _namespace_and_role(viewer, address, Role.PUBLISHER)
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
    return gate.namespace_and_role(
        viewer, address.namespace, need=need, only_name=address.type, spelled=address.spelled
    )


def _no_provider(address: ProviderAddress) -> NotFound:
    return NotFound(f"There is no provider {address.type} in {address.namespace}.")


def is_ending(key: SigningKey | Key, now: datetime) -> bool:
    """The key should be replaced soon, or should have been; a retired key has been."""
    return key.state == KeyState.ACTIVE and key.expires_at is not None and key.expires_at <= now + AHEAD


def listed(rows: ProviderVersionQuerySet) -> list[ListedVersion]:
    """The listed versions among `rows`, highest first, each with its platforms in order. One query for all of it."""
    return shown(_listed(_rows_of(rows)), _visible_at).rows


def _visible_at(version: ListedVersion) -> datetime | None:
    return version.visible_at


def _listed(rows: Iterable[tuple[Any, ...]]) -> list[ListedVersion]:
    columns = len(_OF_VERSION)
    return [
        ListedVersion._make((*values[:columns], Key(*values[columns:]), sorted(split(named))))
        for *values, named in rows
    ]


def _rows_of(versions: ProviderVersionQuerySet) -> QuerySet[ProviderVersion, tuple[Any, ...]]:
    ordered = versions.unyanked().newest_first().annotate(platforms=Joined())
    return ordered.values_list(*_OF_VERSION, *_OF_KEY, "platforms")


def _packages() -> QuerySet[Package]:
    rows = Package.objects.filter(
        version__provider__namespace=_NAMESPACE,
        version__provider__type=_TYPE,
        version__release__sort_key=_SORT_KEY,
        version__release__quarantined_at=None,
    )
    return rows.select_related("version__release", "version__provider").only(*_SERVED)


def _with_keys(packages: QuerySet[Package]) -> Any:
    former = FormerSignature.objects.filter(version=OuterRef("version"), key=OuterRef("signer"))
    is_good = Q(signer_expires_at=None) | Q(signer_expires_at__gt=Slot("now", DateTimeField()))
    usable = Q(is_good, signer_state=KeyState.ACTIVE, signer_custody=F("version__signing"))
    rows: Any = packages.annotate(signer=F(_KEYS), **_OF_SIGNER, **_SERVED_KEY)
    return rows.filter(Q(signer=F("version__key")) | usable | Exists(former)).order_by("-signer_added_at", "-signer")


_LISTED = CompiledQuery(
    lambda: _rows_of(ProviderVersion.objects.published().filter(provider__namespace=_NAMESPACE, provider__type=_TYPE))
)
_PACKAGES = CompiledQuery(_packages)
_ALL_WITH_KEYS = CompiledQuery(lambda: _with_keys(_packages()))
_ONE_WITH_KEYS = CompiledQuery(
    lambda: _with_keys(_packages().filter(os=Slot("os", CharField()), arch=Slot("arch", CharField())))
)
