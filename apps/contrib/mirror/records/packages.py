"""The bytes of a package: streamed into staging while they are hashed, checked, and only then kept."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.audit import generation
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.blobs import ingest, store
from apps.blobs.store import Staged
from apps.contrib.mirror import stored_sums, traffic
from apps.contrib.mirror.asking import registry_calls
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import UpstreamPackage, UpstreamVersion
from apps.contrib.mirror.records import documents, lists, manifests, signature_checks, storage
from apps.contrib.mirror.records.documents import Download, shown
from apps.contrib.mirror.records.failures import Distrusted
from apps.contrib.mirror.records.signature_checks import OtherBytes
from apps.lib.archives.rules.outcome import Refusal
from apps.lib.formats.fingerprints import Fingerprint
from apps.lib.formats.sums import read_as_clients_do
from apps.lib.packages import sandboxed
from apps.lib.packages.sandboxed import PackageListing


@dataclass(frozen=True, slots=True)
class _Try:
    """`url`: what a refusal names. `key`: where it is staged. `by`: who asked."""

    package: UpstreamPackage
    url: str
    key: str
    by: int | None


def fetch(package: UpstreamPackage, guard: Callable[[], None], *, by: int | None) -> None:
    """Raises FetchFailed: nothing is kept then."""
    if package.blob_id is not None:
        return
    for is_last in (False, True):
        download = _known_document(package)
        attempt = _Try(package, shown(download.url), ingest.new_key(), by)
        try:
            staged, origin = _staged(attempt, download)
        except OtherBytes as other:
            if is_last:
                raise signature_checks.other_bytes(package.version, package.filename, other) from None
        else:
            _keep(attempt, _checked(attempt, staged), origin, guard)
            return
        finally:
            store.discard_staged(attempt.key)


def take(package: UpstreamPackage, chunks: Iterable[bytes], *, origin: str, by: int | None) -> None:
    """Store bytes that came from elsewhere than its registry. Raises FetchFailed."""
    attempt = _Try(package, origin, ingest.new_key(), by)
    try:
        staged = store.stage(attempt.key, chunks)
        storage.require_room(package.version.provider.upstream, staged.size)
        if staged.digest != package.digest:
            message = f"{package} has other bytes: found sha256:{staged.digest}, expected sha256:{package.digest}"
            raise FetchFailed("bytes_changed", message, url=origin, rule="known_digest")
        _keep(attempt, _checked(attempt, staged), origin, lambda: None)
    finally:
        store.discard_staged(attempt.key)


def size_up(version: UpstreamVersion, guard: Callable[[], None]) -> None:
    """Find out the sizes of all packages, which manifests of the OCI mirror name. Raises FetchFailed."""
    packages = list(version.packages.order_by("os", "arch"))
    found: dict[int, int] = {}
    for package in packages:
        if package.size is not None or package.pk in found:
            continue
        download = _known_document(package)
        for other in packages:
            if other.platform in download.sizes and other.size is None:
                found[other.pk] = download.sizes[other.platform]
        if package.pk not in found:
            size = registry_calls.size_of(version.provider.upstream, download.url)
            if size is None:
                raise FetchFailed(
                    "no_size", f"The registry does not say how large {package} is", url=shown(download.url), rule="size"
                )
            found[package.pk] = size
    with transaction.atomic():
        guard()
        _locked(version)
        rows = list(version.packages.order_by("os", "arch"))
        for row in rows:
            row.size = row.size if row.size is not None else found.get(row.pk)
        _write_digests(version, rows)


def _known_document(package: UpstreamPackage) -> Download:
    """Return the document of a package, read twice before it accuses the registry. Raises FetchFailed."""
    for is_last in (False, True):
        download = documents.fetch(package.version, package.os, package.arch)
        try:
            _require_known(package, download)
        except OtherBytes as other:
            if is_last:
                raise signature_checks.other_bytes(package.version, package.filename, other) from None
        else:
            return download
    raise AssertionError("the last look raises or returns")


def _require_known(package: UpstreamPackage, download: Download) -> None:
    """The registry must still mean the package of the record: the same file with the same digest.

    Raises Distrusted or OtherBytes.
    """
    version = package.version
    line = read_as_clients_do(bytes(version.sums)).get(package.filename)
    if line != package.digest:
        raise Distrusted(
            "sums_line",
            f"The stored SHA256SUMS of {version} says sha256:{line} of {package}, expected sha256:{package.digest}",
            url=download.asked,
            rule="sums_line",
        )
    if download.filename != package.filename:
        raise Distrusted(
            "filename",
            f"The registry names another file for {package.platform} of {version}: found {download.filename}, "
            f"expected {package.filename}",
            url=download.asked,
            rule="filename",
        )
    if download.shasum != package.digest:
        raise OtherBytes(package.digest, download.shasum, is_signed=True, url=download.asked)


def _staged(attempt: _Try, download: Download) -> tuple[Staged, str]:
    """Stream it into staging, and compare size and digest; return where it came from as well.

    Raises FetchFailed or OtherBytes.
    """
    package = attempt.package
    upstream = package.version.provider.upstream
    claimed = download.sizes.get(package.platform)
    storage.require_room(upstream, claimed or package.size or 0)
    with registry_calls.stream(upstream, download.url, max_bytes=settings.PROVIDER_PACKAGE_MAX_BYTES) as said:
        if said.size is not None:
            storage.require_room(upstream, said.size)
        staged = store.stage(attempt.key, said.chunks)
    if said.size is None:
        storage.require_room(upstream, staged.size)
    expected = claimed if claimed is not None else said.size
    if expected is not None and staged.size != expected:
        raise FetchFailed(
            "size",
            f"{package} has another size than the registry says: found {staged.size:,} bytes, expected {expected:,}",
            url=attempt.url,
            rule="size",
        )
    if staged.digest != package.digest:
        raise OtherBytes(package.digest, staged.digest, is_signed=False, url=attempt.url)
    return staged, said.url


def _checked(attempt: _Try, staged: Staged) -> PackageListing:
    """Read it in a child process that can do nothing else. Raises FetchFailed."""
    package, url = attempt.package, attempt.url
    limits = sandboxed.limits(
        packed_bytes=settings.PROVIDER_PACKAGE_MAX_BYTES, unpacked_bytes=settings.PROVIDER_UNPACKED_MAX_BYTES
    )
    try:
        with store.open_staged(attempt.key) as file:
            listing = sandboxed.inspect_foreign(file, limits)
    except Refusal as refusal:
        raise Distrusted(
            "bad_package", f"{package} is not a package that Larder can unpack: {refusal}", url=url, rule="package"
        ) from None
    if (listing.digest, listing.size) != (staged.digest, staged.size):
        raise store.Damaged(f"{package} changed in storage while it was checked.")
    return listing


def _keep(attempt: _Try, listing: PackageListing, origin: str, guard: Callable[[], None]) -> None:
    """Store the bytes, then write that they are there: blob, h1 and origin in one transaction."""
    fingerprint = Fingerprint(listing.digest, "", listing.size)
    package, by = attempt.package, attempt.by
    arrival = ingest.staged(attempt.key, fingerprint, is_hashed=True)
    with transaction.atomic(durable=True):
        guard()
        blob = ingest.claim(fingerprint)
    arrival.store()
    ingest.mark_ready(blob)
    version = package.version
    with transaction.atomic(), stored_sums.changing([version.provider.upstream_id], {listing.digest}):
        guard()
        _locked(version)
        row = UpstreamPackage.objects.filter(pk=package.pk, blob=None, digest=listing.digest).first()
        if row is None:
            return  # another worker was first, or staff have replaced the record meanwhile
        ready = ingest.lock_ready(listing.digest)
        if ready is None:
            raise store.StorageUnavailable(f"{package} was removed while it was stored: try again soon.")
        row.blob, row.h1, row.size = ready, listing.h1, listing.size
        row.fetched_at, row.fetched_by_id = timezone.now(), by
        row.fetched_from = shown(origin)[:1000]
        row.save(update_fields=["blob", "h1", "size", "fetched_at", "fetched_by", "fetched_from"])
        traffic.add_fetched(version.provider.upstream_id, listing.size)
        _write_digests(version, list(version.packages.order_by("os", "arch")))
        generation.touch([lists.scope_of(version.provider)])
        record(
            Kind.UPSTREAM_PACKAGE_STORED,
            actor_id=by,
            subject=f"{version} {package.platform}",
            digest=listing.digest,
            size=listing.size,
            verdict=version.verdict,
            url=row.fetched_from,
        )


def _write_digests(version: UpstreamVersion, rows: list[UpstreamPackage]) -> None:
    index = manifests.set_digests(version, rows)
    UpstreamPackage.objects.bulk_update(rows, ["size", "manifest_digest"])
    UpstreamVersion.objects.filter(pk=version.pk).update(index_digest=index)


def _locked(version: UpstreamVersion) -> None:
    """Two packages of a version may come at once, and both write its index."""
    UpstreamVersion.objects.select_for_update(no_key=True).only("pk").get(pk=version.pk)
