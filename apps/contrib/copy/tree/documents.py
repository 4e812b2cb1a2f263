"""Renders the files of one address, as every reader of it may see them.

The documents have the shapes of the protocol edges, which share their builders. Locations are relative to the root of
the server (D22) and follow from coordinates: nothing in a document depends on who asks, or carries a permission.

What changes with time alone has a moment at which it is rendered again: the end of a cool-down, the end of a key.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Min, Q

from apps.accounts.models import Namespace, Visibility
from apps.blobs.models import Blob
from apps.contrib.copy.tree import layout
from apps.contrib.copy.tree.layout import Address, Kind
from apps.http import mirrors
from apps.lib.addresses import ModuleAddress, ProviderAddress, canonical
from apps.lib.errors import NotFound
from apps.lib.mirrored import HostedProvider, MirroredPackage
from apps.modules.catalogue import documents as module_documents
from apps.modules.catalogue import reading as module_reading
from apps.modules.models import Module
from apps.protocol.discovery import discovery_document
from apps.providers import documents as provider_documents
from apps.providers import reading as provider_reading
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.models import Kind as ReleaseKind
from apps.releases.models import Release, ReleaseBlob
from apps.signing.models import SigningKey

_AT_ONCE = 500  # digests in one query


@dataclass(frozen=True, slots=True)
class Stored:
    """The content of a file that is a blob of the store."""

    digest: str  # sha256, 64 lower-case hex digits
    size: int  # bytes


Content = bytes | Stored


@dataclass(slots=True)
class Rendered:
    """The files of one address by their places; none where there is nothing to read."""

    address: Address
    is_public: bool = True
    files: dict[str, Content] = field(default_factory=dict)
    due_at: datetime | None = None  # when it changes without an event


def as_bytes(document: Any) -> bytes:
    """JSON of which equal documents have equal bytes."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def stored_as(content: Content) -> Stored:
    """The digest and size of any content."""
    if isinstance(content, Stored):
        return content
    return Stored(hashlib.sha256(content).hexdigest(), len(content))


def render(address: Address, *, now: datetime) -> Rendered:
    """Read what readers of the address get now."""
    rendered = Rendered(address)
    _RENDERERS[address.kind](rendered, now)
    return rendered


def addresses(namespace: str = "") -> Iterator[Address]:
    """Yield every address that has anything to read, or those of one namespace (its canonical name)."""
    within = {"namespace__canonical": namespace} if namespace else {}
    modules = Module.objects.filter(namespace__deleted_at=None, **within).order_by("pk")
    for parts in modules.values_list("namespace__name", "name", "system").iterator():
        yield Address(Kind.MODULE, "/".join(parts))
    providers = Provider.objects.filter(namespace__deleted_at=None, **within).order_by("pk")
    for name, type_ in providers.values_list("namespace__canonical", "type").iterator():
        yield Address(Kind.PROVIDER, f"{name}/{type_}")
    if not namespace:
        yield Address(Kind.DISCOVERY)
        if mirrors.others is not None:
            for hosted in mirrors.others.copied_providers():
                yield Address(Kind.MIRROR, str(hosted))


def address_of(found: ModuleAddress | ProviderAddress) -> Address:
    """The address of a module or provider of ours, in the spelling of clients."""
    if isinstance(found, ModuleAddress):
        return Address(Kind.MODULE, str(found))
    return Address(Kind.PROVIDER, found.source)


def of_release(kind: str, namespace: str, name: str) -> Address:
    """The address of a release. `namespace` is its name, `name` the release's: `vpc/aws`."""
    if kind == ReleaseKind.MODULE:
        return Address(Kind.MODULE, f"{namespace}/{name}")
    return Address(Kind.PROVIDER, f"{canonical(namespace)}/{name}")


def trimmed(place: str, raw: bytes, has: Callable[[str], bool]) -> bytes:
    """Return a list of versions without those that a tree does not have."""
    document = json.loads(raw)
    if place.endswith("/index.json"):
        document["versions"] = {one: more for one, more in document["versions"].items() if has(one)}
    else:
        for owner in document["modules"] if place.startswith("v1/modules/") else [document]:
            owner["versions"] = [one for one in owner["versions"] if has(one["version"])]
    return as_bytes(document)


# --- Discovery and modules ------------------------------------------------------------------------------------------


def _discovery(rendered: Rendered, now: datetime) -> None:  # noqa: ARG001
    rendered.files[layout.DISCOVERY] = as_bytes(discovery_document())


def _module(rendered: Rendered, now: datetime) -> None:
    address, place = ModuleAddress(*rendered.address.name.split("/")), rendered.address
    namespace = Namespace.objects.filter(name=address.namespace).first()
    if namespace is None:
        return
    rendered.is_public = namespace.visibility == Visibility.PUBLIC
    try:
        listed = module_reading.listed_in(namespace, address)
    except NotFound:
        return
    rows = Release.objects.published().filter(kind=ReleaseKind.MODULE, namespace=namespace, name=address.path_name)
    columns = ("version", "digest", "size", "visible_at")
    every = list(rows.values_list(*columns))
    found = [row for row in every if row[3] is None or row[3] <= now]
    blocked = _blocked(digest for _, digest, _, _ in found)
    readable = {version: (digest, size) for version, digest, size, _ in found if digest not in blocked}
    for version, (digest, size) in readable.items():
        archive = place.archive(version)
        rendered.files[archive] = Stored(digest, size or 0)
        location = f"/{archive}?checksum=sha256:{digest}"
        rendered.files[place.module_download(version)] = as_bytes(module_documents.download_document(location))
    shown = [row for row in listed.versions if row[0] in readable]
    rendered.files[place.versions] = as_bytes(module_documents.versions_document(address, shown, listed.source_url))
    # Yanked versions, which no list has, come to be fetched as well.
    rendered.due_at = min((row[3] for row in every if row[3] is not None and row[3] > now), default=None)


# --- Providers ------------------------------------------------------------------------------------------------------


def _provider(rendered: Rendered, now: datetime) -> None:
    address, place = ProviderAddress(*rendered.address.name.split("/")), rendered.address
    namespace = Namespace.objects.filter(canonical=address.namespace).first()
    if namespace is None:
        return
    rendered.is_public = namespace.visibility == Visibility.PUBLIC
    try:
        listed = provider_reading.listed_in(namespace, address)
    except NotFound:
        return
    # In the spelling of configurations; a document names no namespace.
    readable = {}
    for version, packages in _readable(namespace, address, now):
        readable[version] = packages
        _provider_version(rendered, namespace, address, packages, now)
    shown = [row for row in listed.rows if row.version in readable]
    document = provider_documents.versions_document(shown, now, held=listed.held)
    rendered.files[place.versions] = as_bytes(document)
    index = as_bytes(provider_documents.mirror_index_document(row.version for row in shown))
    for host in settings.HOSTNAMES:
        rendered.files[layout.mirror_index(f"{host}/{place.name}")] = index
    held = ProviderVersion.objects.published().filter(provider__namespace=namespace, provider__type=address.type)
    held_until = held.filter(release__visible_at__gt=now).aggregate(first=Min("release__visible_at"))["first"]
    rendered.due_at = min(filter(None, [held_until, _key_change(namespace, now)]), default=None)


def _readable(namespace: Namespace, address: ProviderAddress, now: datetime) -> Iterator[tuple[str, list[Package]]]:
    """Yield each version that readers see with its packages, none of whose bytes are in quarantine."""
    versions = ProviderVersion.objects.published().filter(provider__namespace=namespace, provider__type=address.type)
    is_visible = Q(release__visible_at=None) | Q(release__visible_at__lte=now)
    rows = Package.objects.filter(version__in=versions.filter(is_visible))
    packages: dict[str, list[Package]] = {}
    for package in rows.select_related("version__release", "version__provider").order_by("os", "arch"):
        packages.setdefault(package.version.release.version, []).append(package)
    blocked = _blocked(one.digest for several in packages.values() for one in several)
    for version, several in packages.items():
        if not blocked.intersection(one.digest for one in several):
            yield version, several


def _provider_version(
    rendered: Rendered, namespace: Namespace, address: ProviderAddress, packages: list[Package], now: datetime
) -> None:
    place, version = rendered.address, packages[0].version
    number, files = version.release.version, rendered.files

    def url_of(_digest: str, file_name: str) -> str:
        return f"/{place.package(number, file_name)}"

    sums = provider_documents.sums_name(address.type, number)
    sizes = dict(
        Blob.objects.filter(digest__in=[version.sums_digest, version.signature_digest]).values_list("digest", "size")
    )
    for digest, name in ((version.sums_digest, sums), (version.signature_digest, f"{sums}.sig")):
        files[place.package(number, name)] = Stored(digest, sizes.get(digest, 0))
    platform = (packages[0].os, packages[0].arch)
    keys = provider_reading.download_in(namespace, address, number, platform, with_all=False, now=now).keys
    everything = packages if settings.PROVIDER_PACKAGES else []
    for one in packages:
        files[place.package(number, one.filename)] = Stored(one.digest, one.size)
        document = provider_documents.download_document(one, keys=keys, url_of=url_of, all_packages=everything)
        files[place.provider_download(number, one.os, one.arch)] = as_bytes(document)
    mirrored = provider_documents.mirror_version_document(packages, lambda one: url_of(one.digest, one.filename))
    for host in settings.HOSTNAMES:
        files[layout.mirror_version(f"{host}/{place.name}", number)] = as_bytes(mirrored)


def _key_change(namespace: Namespace, now: datetime) -> datetime | None:
    """Return when a key of the namespace begins to be warned of, or ends."""
    ends = SigningKey.objects.filter(namespace=namespace, expires_at__gt=now).values_list("expires_at", flat=True)
    moments = [moment for end in ends if end for moment in (end - provider_reading.AHEAD, end)]
    # A moment later: at the very moment it still counts.
    return min((moment + timedelta(seconds=1) for moment in moments if moment > now), default=None)


# --- Providers of other registries ----------------------------------------------------------------------------------


def _mirror(rendered: Rendered, now: datetime) -> None:
    place, others = rendered.address, mirrors.others
    copied = others.copied(HostedProvider(*place.name.split("/"))) if others is not None else None
    if copied is None:
        return
    rendered.is_public = copied.is_public
    rendered.due_at = now + timedelta(seconds=copied.seconds)
    for number, packages in copied.versions:

        def url_of(one: MirroredPackage, number: str = number) -> str:
            return f"/{place.package(number, one.filename)}"

        for one in packages:
            rendered.files[place.package(number, one.filename)] = Stored(one.digest, one.size or 0)
        document = provider_documents.mirror_version_document(packages, url_of)
        rendered.files[layout.mirror_version(place.name, number)] = as_bytes(document)
    if copied.versions:
        index = provider_documents.mirror_index_document(number for number, _ in copied.versions)
        rendered.files[layout.mirror_index(place.name)] = as_bytes(index)


def _blocked(digests: Iterable[str]) -> set[str]:
    """Return those whose bytes are in quarantine, in any release."""
    wanted, blocked = sorted(set(digests)), set[str]()
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        whole = Release.objects.filter(digest__in=some, quarantined_at__isnull=False).values_list("digest")
        parts = ReleaseBlob.objects.filter(digest__in=some, release__quarantined_at__isnull=False)
        blocked.update(digest for (digest,) in whole.union(parts.values_list("digest")))
    return blocked


_RENDERERS: Mapping[Kind, Callable[[Rendered, datetime], None]] = {
    Kind.DISCOVERY: _discovery,
    Kind.MODULE: _module,
    Kind.PROVIDER: _provider,
    Kind.MIRROR: _mirror,
}
