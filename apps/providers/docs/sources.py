"""The docs of a version: their texts, from an archive in a limited child process or a stored package; their rows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import BinaryIO
from urllib.parse import quote

from django.conf import settings

from apps.blobs import store
from apps.lib.addresses import ProviderAddress
from apps.lib.archives import sandboxed
from apps.lib.archives.inflating import parts_of
from apps.lib.archives.sandboxed import Limits, Refusal
from apps.lib.errors import Reason
from apps.lib.packages.sandboxed import PackageListing
from apps.providers.drafting import drafts
from apps.providers.models import DocsArchive, DocsPage, DocsState, Package, ProviderVersion
from apps.releases.docs import layouts, rendering
from apps.releases.docs.layouts import MAX_PAGES, Place
from apps.releases.docs.reading import MAX_TEXT_BYTES, MAX_TOTAL_TEXT_BYTES, package_texts
from apps.releases.models import Release, ReleaseFile

_UNPACKED = 256 * 1024 * 1024
# One `*` is one part of a path; `layouts` decides which of these are pages.
_FOLDERS = ("", "docs/", "website/docs/", "*/", "*/docs/", "*/website/docs/")
_WANTED = tuple(dict.fromkeys(f"{folder}{rest}" for folder in _FOLDERS for rest in ("*.m*", "*/*.m*")))


def archive_texts(file: BinaryIO, *, digest: str) -> dict[Place, bytes]:
    """The pages of a docs archive. Raises Refusal."""
    listing = sandboxed.inspect(
        file,
        Limits(
            packed_bytes=settings.PROVIDER_DOCS_MAX_BYTES,
            packed_setting=drafts.DOCS_SETTING,
            unpacked_bytes=_UNPACKED,
            unpacked_setting="",
            entries=settings.ARCHIVE_MAX_ENTRIES,
            text_bytes=MAX_TEXT_BYTES,
            texts_bytes=MAX_TOTAL_TEXT_BYTES,
        ),
        wanted=_WANTED,
    )
    if listing.digest != digest:
        raise store.Damaged("The staged bytes of the documentation differ from those received.")
    sizes = {entry.name: entry.size for entry in listing.entries if not entry.is_dir}
    pages = layouts.pages_in(sizes, is_archive=True)
    reasons = list(_wrong(pages, sizes))
    if reasons:
        raise Refusal(reasons)
    # Files that are no pages may use up the room: read as many pages as fit.
    return {place: listing.texts.get(name, b"") for place, name in pages.items()}


def _wrong(found: Mapping[Place, str], sizes: Mapping[str, int]) -> Iterator[Reason]:
    if not found:
        hint = "Zip the folder docs of the provider's repository, with its name"
        yield Reason("docs_none", "no page", "docs/index.md, docs/resources/<name>.md and the like", hint)
    if len(found) > MAX_PAGES:
        yield Reason("docs_too_many", f"{len(found)} pages", f"at most {MAX_PAGES}", "Leave out old pages")
    for name in found.values():
        if sizes[name] > MAX_TEXT_BYTES:
            hint = "Split it into several pages"
            yield Reason(
                "docs_too_long", f"{sizes[name]} bytes", f"at most {MAX_TEXT_BYTES} for a page", hint, name[:200]
            )
    total = sum(sizes[name] for name in found.values())
    if total > MAX_TOTAL_TEXT_BYTES:
        hint = "Leave out pages that current clients do not need"
        yield Reason("docs_too_much", f"{total} bytes of text", f"at most {MAX_TOTAL_TEXT_BYTES}", hint)


def checked(file: ReleaseFile | None) -> dict[Place, bytes]:
    """The texts of the draft's docs archive. Raises Refusal, like every other file of a draft."""
    if file is None:
        return {}
    try:
        with store.open_staged(file.staging_key) as staged:
            return archive_texts(staged, digest=file.digest)
    except Refusal as refusal:
        inside = [(reason, f"{file.name}: {reason.file}" if reason.file else file.name) for reason in refusal.reasons]
        raise Refusal([replace(reason, file=where) for reason, where in inside]) from None


def read(
    release: Release, texts: dict[Place, bytes], inspected: Iterable[tuple[Package, PackageListing]]
) -> list[DocsPage]:
    """The pages of the draft's docs archive, else of the first stored package that has any."""
    for package, listing in inspected:
        if texts:
            break
        texts = package_texts(package.digest, listing.entries, partial(store.read, package.digest))
    return _rendered(release, texts)


def read_staged(
    release: Release,
    files: drafts.Files,
    texts: dict[Place, bytes],
    inspected: Iterable[tuple[Package, PackageListing]],
) -> list[DocsPage]:
    """Read the docs like `read`, before the packages are stored."""
    keys = {name.platform: file.staging_key for file, name in files.packages}
    for package, listing in inspected:
        if texts:
            break
        if layouts.pages_in([entry.name for entry in listing.entries if not entry.is_dir], is_archive=False):
            with store.open_staged(keys[package.platform]) as staged:
                texts = package_texts(package.digest, listing.entries, partial(parts_of, staged))
    return _rendered(release, texts)


def _rendered(release: Release, texts: dict[Place, bytes]) -> list[DocsPage]:
    return list(render(texts, ProviderAddress(release.namespace.name, release.name), release.version))


def render(texts: Mapping[Place, bytes], address: ProviderAddress, version: str) -> Iterator[DocsPage]:
    return rendering.render(texts, DocsPage, prefix=docs_path(address, version), provider_type=address.type)


def docs_path(address: ProviderAddress, version: str) -> str:
    """The path of a version's docs. Repeats the portal's routes, and its tests compare the two."""
    return quote(f"/providers/{address}/{version}/docs", safe="/+")


def describe(version: ProviderVersion, file: ReleaseFile | None, pages: list[DocsPage]) -> None:
    """Write the rows, in the finalising transaction."""
    if file is not None:
        DocsArchive.objects.create(
            version=version,
            state=DocsState.SHOWN,
            digest=file.digest,
            size=file.size,
            created_by=version.release.created_by,
        )
    write(version, pages)


def write(version: ProviderVersion, pages: Iterable[DocsPage]) -> None:
    """Replace the version's pages, in the caller's transaction."""
    version.docs_pages.all().delete()
    rows = list(pages)
    for page in rows:
        page.version = version
    DocsPage.objects.bulk_create(rows, batch_size=50)
