"""Read a version's docs, for pages and scripts. Finding the version has asked the gate."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.lib.errors import NotFound
from apps.providers.docs.layouts import INDEX
from apps.providers.models import DocsArchive, DocsKind, DocsPage, DocsState, ProviderVersion

_KEPT_IN_VIEW = 10


@dataclass(frozen=True, slots=True)
class Row:
    page: DocsPage
    is_match: bool

    @property
    def words(self) -> str:
        """The text that filters match."""
        return _words(self.page)


@dataclass(frozen=True, slots=True)
class Group:
    """The pages of one subcategory; "" for those without one."""

    name: str
    rows: list[Row]

    @property
    def is_match(self) -> bool:
        return any(row.is_match for row in self.rows)


@dataclass(frozen=True, slots=True)
class Section:
    kind: DocsKind
    groups: list[Group]

    @property
    def pages(self) -> list[DocsPage]:
        """By name, whatever their subcategory."""
        return sorted((row.page for group in self.groups for row in group.rows), key=lambda page: page.name.casefold())

    @property
    def count(self) -> int:
        return sum(len(group.rows) for group in self.groups)

    @property
    def match_count(self) -> int:
        return sum(row.is_match for group in self.groups for row in group.rows)


def sections_of(version: ProviderVersion, query: str = "") -> list[Section]:
    """All pages by kind and subcategory, by name; `is_match` marks those that match every word of the query.

    The rest is included, so that widening the filter while typing needs no request.
    """
    words = query.casefold().split()
    by_kind: dict[str, list[Row]] = {kind: [] for kind in DocsKind}
    for page in index_of(version):
        text = _words(page).casefold()
        by_kind[page.kind].append(Row(page, all(word in text for word in words)))
    sections = []
    for kind, rows in by_kind.items():
        names = {row.page.subcategory for row in rows}
        ordered = sorted(names, key=lambda name: (bool(name), name.casefold(), name))
        groups = [Group(name, [row for row in rows if row.page.subcategory == name]) for name in ordered]
        if groups:
            sections.append(Section(DocsKind(kind), groups))
    return sections


def index_of(version: ProviderVersion) -> Sequence[DocsPage]:
    """Every page without its text: one query."""
    return sorted(version.docs_pages.without_texts(), key=lambda page: (page.name.casefold(), page.slug))


def page_of(version: ProviderVersion, kind: str = DocsKind.OVERVIEW, slug: str = INDEX) -> DocsPage:
    page = version.docs_pages.filter(kind=kind, slug=slug).first()
    if page is None:
        raise NotFound(f"The documentation of {version} has no page {kind}/{slug}.")
    return page


def versions_with(version: ProviderVersion, page: DocsPage | None) -> set[str]:
    """The numbers of the provider's versions that also have this page."""
    if page is None:
        return set()
    same = DocsPage.objects.filter(version__provider=version.provider_id, kind=page.kind, slug=page.slug)
    return set(same.values_list("version__release__version", flat=True))


def archives_of(version: ProviderVersion) -> list[DocsArchive]:
    """Docs archives uploaded for the version, newest first."""
    return list(version.docs_archives.select_related("created_by").order_by("-pk")[:_KEPT_IN_VIEW])


def is_waiting(archives: Iterable[DocsArchive]) -> bool:
    return any(archive.state == DocsState.RECEIVED for archive in archives)


def _words(page: DocsPage) -> str:
    return f"{page.name} {page.title} {page.subcategory}"
