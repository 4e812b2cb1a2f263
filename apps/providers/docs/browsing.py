"""Reading a version's documentation, for pages and scripts. The gate was asked when the version was found."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apps.lib.errors import NotFound
from apps.providers.docs.layouts import INDEX
from apps.providers.models import DocsArchive, DocsKind, DocsPage, DocsState, ProviderVersion
from apps.releases.documents import moment

_KEPT_IN_VIEW = 10


@dataclass(frozen=True, slots=True)
class Group:
    """The pages of one subcategory; an empty name is that of those without one."""

    name: str
    pages: list[DocsPage]


@dataclass(frozen=True, slots=True)
class Section:
    kind: DocsKind
    groups: list[Group]
    count: int


def sections_of(version: ProviderVersion, query: str = "") -> list[Section]:
    """All pages by kind and subcategory, each by name; of those only the ones that hold every word of the query."""
    words = query.casefold().split()
    rows = [page for page in index_of(version) if _holds(page, words)]
    by_kind = {kind: [page for page in rows if page.kind == kind] for kind in DocsKind}
    return [Section(kind, _grouped(pages), len(pages)) for kind, pages in by_kind.items() if pages]


def index_of(version: ProviderVersion) -> Sequence[DocsPage]:
    """Every page without its text: one query."""
    return sorted(version.docs_pages.without_texts(), key=lambda page: (page.name.casefold(), page.slug))


def page_of(version: ProviderVersion, kind: str = DocsKind.OVERVIEW, slug: str = INDEX) -> DocsPage:
    page = version.docs_pages.filter(kind=kind, slug=slug).first()
    if page is None:
        raise NotFound(f"The documentation of {version} has no page {kind}/{slug}.")
    return page


def versions_with(version: ProviderVersion, page: DocsPage | None) -> set[int]:
    """Which versions of the provider (by number of row) have that page too."""
    if page is None:
        return set()
    same = DocsPage.objects.filter(version__provider=version.provider_id, kind=page.kind, slug=page.slug)
    return set(same.values_list("version", flat=True))


def archives_of(version: ProviderVersion) -> list[DocsArchive]:
    """What was sent for it, the newest first."""
    return list(version.docs_archives.select_related("created_by").order_by("-pk")[:_KEPT_IN_VIEW])


def docs_document(version: ProviderVersion, *, with_archives: bool) -> dict[str, Any]:
    """`pages`, and to publishers what was sent and how it went."""
    pages = [
        {"kind": page.kind, "slug": page.slug, "name": page.name, "subcategory": page.subcategory}
        for page in index_of(version)
    ]
    archives = [archive_document(one) for one in archives_of(version)] if with_archives else None
    return {"pages": pages} | ({} if archives is None else {"archives": archives})


def archive_document(archive: DocsArchive) -> dict[str, Any]:
    return {
        "state": archive.state,
        "digest": f"sha256:{archive.digest}",
        "size": archive.size,
        "received_at": moment(archive.created_at),
        "reasons": [{**reason.as_dict(), "sentence": reason.sentence} for reason in archive.refusals()],
    }


def is_waiting(archives: Iterable[DocsArchive]) -> bool:
    return any(archive.state == DocsState.RECEIVED for archive in archives)


def _grouped(pages: list[DocsPage]) -> list[Group]:
    names = sorted({page.subcategory for page in pages}, key=lambda name: (bool(name), name.casefold(), name))
    return [Group(name, [page for page in pages if page.subcategory == name]) for name in names]


def _holds(page: DocsPage, words: list[str]) -> bool:
    text = f"{page.name} {page.title} {page.subcategory}".casefold()
    return all(word in text for word in words)
