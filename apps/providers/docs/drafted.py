"""The docs of a version in publication: steps of the pipeline in `providers.publishing`."""

from collections.abc import Iterable
from dataclasses import replace

from apps.blobs import store
from apps.lib.addresses import ProviderAddress
from apps.lib.archives.sandboxed import Refusal
from apps.lib.packages.sandboxed import PackageListing
from apps.providers.docs import rendering, sources
from apps.providers.docs.layouts import Place
from apps.providers.models import DocsArchive, DocsPage, DocsState, Package, ProviderVersion
from apps.releases.models import Release, ReleaseFile


def checked(file: ReleaseFile | None) -> dict[Place, bytes]:
    """The texts of the draft's docs archive. Raises Refusal, like every other file of a draft."""
    if file is None:
        return {}
    try:
        with store.open_staged(file.staging_key) as staged:
            return sources.archive_texts(staged, digest=file.digest)
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
        texts = sources.package_texts(package.digest, listing.entries)
    address = ProviderAddress(release.namespace.name, release.name)
    return list(rendering.render(texts, address=address, version=release.version))


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
