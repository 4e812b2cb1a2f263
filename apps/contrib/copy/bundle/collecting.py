"""Collect what a bundle has of the chosen releases: the manifests by which they are served over OCI, what is attached
to those, and the blobs that both name.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from apps.artifacts.models import Manifest
from apps.blobs.models import Blob
from apps.contrib.copy.bundle import mirroring
from apps.contrib.copy.bundle.contents import DOCS, NAME, PURGED, QUARANTINED, SIGNATURE, SUMS, Item, descriptor
from apps.contrib.copy.bundle.selecting import Mirrored
from apps.contrib.copy.tree.documents import Stored, stored_as
from apps.contrib.copy.tree.layout import Kind
from apps.http import mirrors
from apps.lib.errors import Conflict
from apps.lib.formats import provider_manifests, sums
from apps.lib.formats.oci_manifests import (
    EMPTY_DIGEST,
    IMAGE_INDEX,
    MODULE_PACKAGE,
    PROVIDER,
    Subject,
    attached_manifest,
    digest_of,
)
from apps.lib.formats.provider_manifests import Zip
from apps.modules import package_manifest
from apps.modules.catalogue.documents import archive_name
from apps.modules.models import ModuleVersion
from apps.provenance import referrers
from apps.provenance.models import Referrer
from apps.providers.documents import sums_name
from apps.providers.drafting import drafts
from apps.providers.models import DocsState, ProviderVersion
from apps.releases.models import Kind as ReleaseKind
from apps.releases.models import Lifecycle, Release, ReleaseBlob, ReleaseQuerySet, State


@dataclass(slots=True)
class Collected:
    """`made` are blobs that are not in storage, by digest; `stored` the sizes of those that are. `entries` are those of
    index.json, by the item that they belong to.
    """

    items: list[Item] = field(default_factory=list)
    entries: list[tuple[Item, list[dict[str, Any]]]] = field(default_factory=list)
    made: dict[str, bytes] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)

    def add_made(self, raw: bytes) -> str:
        digest = digest_of(raw)
        self.made[digest] = raw
        return digest

    def led_to(self, digest: str) -> Iterator[str]:
        """Yield the digest of a manifest, and of what it leads to that is not in storage."""
        yield digest
        document = json.loads(self.made[digest])
        for one in document.get("manifests", ()):
            yield from self.led_to(one["digest"])
        yield from (one["digest"] for one in document.get("layers", ()) if one["digest"] in self.made)

    def attach(self, kind: str, file: Stored, name: str, subject: Subject) -> dict[str, Any]:
        """Keep the manifest of that type which attaches a file to another manifest; return its entry."""
        raw = attached_manifest(
            kind, sha256=file.digest, size=file.size, file_name=name, subject=subject, annotations={}
        )
        self.add_made(raw)
        return descriptor(raw, artifact_type=kind)

    def add_index(self, packages: Iterable[Zip], *, name: str, version: str) -> bytes:
        """Keep what serves a provider version over OCI; return its index."""
        listed = list(packages)
        for one in listed:
            self.stored[f"sha256:{one.digest}"] = one.size
            self.add_made(provider_manifests.package_manifest(one, name=name, version=version))
        raw = provider_manifests.version_index(listed, name=name, version=version)
        self.add_made(raw)
        return raw


def collect(releases: ReleaseQuerySet, mirrored: Iterable[Mirrored]) -> Collected:
    """Reads no byte of a package. Raises Conflict for a release whose stored bytes are not ready."""
    found = Collected()
    in_quarantine = Release.objects.filter(quarantined_at__isnull=False)
    blocked = {*in_quarantine.values_list("digest", flat=True)}
    blocked |= {*ReleaseBlob.objects.filter(release__in=in_quarantine).values_list("digest", flat=True)}
    served = releases.published().exclude(Q(digest__in=blocked) | Q(blobs__digest__in=blocked))
    attached: dict[int, list[Referrer]] = defaultdict(list)
    for row in Referrer.objects.filter(release__in=served).select_related("statement", "attestation").iterator():
        attached[row.release_id].append(row)
    modules = ModuleVersion.objects.filter(release__in=served).select_related("release__namespace")
    for version in modules.defer("readme_html", "readmes", "files").order_by("release__sort_key").iterator():
        _add_module(found, version, attached[version.release_id])
    providers = ProviderVersion.objects.filter(release__in=served).select_related("release__namespace")
    ordered = providers.prefetch_related("packages", "docs_archives").order_by("release__sort_key")
    for provider_version in ordered.iterator(chunk_size=200):
        _add_provider(found, provider_version, attached[provider_version.release_id])
    for one in mirrored:
        _add_mirrored(found, one)
    for release in releases.exclude(state=State.PUBLISHED, quarantined_at=None):
        found.items.append(_withdrawn(release))
    found.items.sort(key=lambda one: (one.kind, one.address, one.version))
    return found


def _add_module(found: Collected, version: ModuleVersion, attached: Iterable[Referrer]) -> None:
    release = version.release
    raw = _manifest_of(version)
    document = json.loads(raw)
    for one in (document["config"], *document["layers"]):
        if one["digest"] != EMPTY_DIGEST:
            found.stored[one["digest"]] = one["size"]
    files = {archive_name(release.name, release.version): f"sha256:{release.digest}"}
    entry = descriptor(raw, artifact_type=MODULE_PACKAGE)
    found.add_made(raw)
    _add(found, release, [entry], attached, files=files, licence=_licence(version))


def _manifest_of(version: ModuleVersion) -> bytes:
    """The manifest that was pushed with a release, or the one that serves it."""
    release = version.release
    made = package_manifest.synthesised(release)
    if version.manifest_digest in ("", digest_of(made)):
        return made
    here = {"repository__namespace": release.namespace, "repository__path": release.name.lower()}
    pushed = Manifest.objects.filter(**here, digest=version.manifest_digest).first()
    return bytes(pushed.raw) if pushed and b'"sha512:' not in bytes(pushed.raw) else made


def _licence(version: ModuleVersion) -> str:
    return str((version.inspection or {}).get("licence", ""))


def _add_provider(found: Collected, version: ProviderVersion, attached: Iterable[Referrer]) -> None:
    release = version.release
    packages = [Zip(one.os, one.arch, one.filename, one.digest, one.size) for one in version.packages.all()]
    raw = found.add_index(packages, name=release.name, version=release.version)
    subject = Subject(IMAGE_INDEX, digest_of(raw), len(raw))
    files = {one.filename: f"sha256:{one.digest}" for one in packages}
    name = sums_name(release.name, release.version)
    small = [(SUMS, name, version.sums_digest), (SIGNATURE, f"{name}.sig", version.signature_digest)]
    shown = [one.digest for one in version.docs_archives.all() if one.state == DocsState.SHOWN]
    small += [(DOCS, drafts.docs_name(release), digest) for digest in shown]
    sizes = dict(Blob.objects.filter(digest__in=[digest for *_, digest in small]).values_list("digest", "size"))
    entries = [descriptor(raw, media_type=IMAGE_INDEX, artifact_type=PROVIDER)]
    for kind, name, sha256 in small:
        if sha256 not in sizes:
            raise Conflict(f"{release}: {name} is not in storage.", hint="Verify the release on its page.")
        files[name] = f"sha256:{sha256}"
        found.stored[files[name]] = sizes[sha256]
        entries.append(found.attach(kind, Stored(sha256, sizes[sha256]), name, subject))
    _add(found, release, entries, attached, files=files, protocols=tuple(version.protocols))


def _add_mirrored(found: Collected, mirrored: Mirrored) -> None:
    provider, number, packages = mirrored
    zips = [Zip(one.os, one.arch, one.filename, one.digest, one.size or 0) for one in packages]
    raw = found.add_index(zips, name=provider.type, version=number)
    files = {one.filename: f"sha256:{one.digest}" for one in zips}
    entries = [descriptor(raw, media_type=IMAGE_INDEX, artifact_type=PROVIDER)]
    subject = Subject(IMAGE_INDEX, digest_of(raw), len(raw))
    assert mirrors.others is not None  # noqa: S101  # it yielded this one
    for kind, name, said in mirroring.files_of(mirrors.others.proof(provider, number), provider.type, number):
        files[name] = found.add_made(said)
        entries.append(found.attach(kind, stored_as(said), name, subject))
    identity = stored_as(sums.canonical({one.filename: one.digest for one in zips})).digest
    attached = tuple(one["digest"] for one in entries[1:])
    item = Item(str(Kind.MIRROR), str(provider), number, identity, digest_of(raw), files, attached)
    entries[0]["annotations"] = {NAME: item.name}
    found.items.append(item)
    found.entries.append((item, entries))


def _add(
    found: Collected, release: Release, entries: list[dict[str, Any]], attached: Iterable[Referrer], **facts: Any
) -> None:
    """`entries`: of the release's manifest, and of those that are attached to it."""
    for row in attached:
        said = row.statement.envelope if row.statement else row.attestation.content if row.attestation else b""
        found.add_made(bytes(said))
        raw = referrers.raw(row)
        found.add_made(raw)
        entries.append(descriptor(raw, artifact_type=row.artifact_type))
    is_said = release.lifecycle != Lifecycle.MAINTAINED
    item = Item(
        kind=f"{release.kind}s",
        address=release.address,
        version=release.version,
        digest=identity(release),
        manifest=entries[0]["digest"],
        referrers=tuple(one["digest"] for one in entries[1:]),
        state=release.lifecycle if is_said else "",
        reason=release.lifecycle_reason if is_said else "",
        replacement=release.lifecycle_replacement if is_said else "",
        **facts,
    )
    entries[0]["annotations"] = {NAME: item.name}
    found.items.append(item)
    found.entries.append((item, entries))


def _withdrawn(release: Release) -> Item:
    is_quarantined = release.quarantined_at is not None
    return Item(
        kind=f"{release.kind}s",
        address=release.address,
        version=release.version,
        digest=identity(release),
        state=QUARANTINED if is_quarantined else PURGED,
        reason=release.quarantine_reason if is_quarantined else release.lifecycle_reason,
    )


def identity(release: Release) -> str:
    """Return the digest that is the same on both sides: a provider that a registry signs itself has other sums."""
    return release.digest if release.kind == ReleaseKind.MODULE else release.uploaded_digest
