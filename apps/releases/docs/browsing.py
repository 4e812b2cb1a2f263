"""Docs for pages and scripts. Finding their version has asked the gate."""

from dataclasses import dataclass
from typing import Any

from apps.lib.errors import NotFound
from apps.releases.docs.layouts import INDEX, README
from apps.releases.docs.models import DocsKind, DocsQuerySet, DocsRow


@dataclass(frozen=True, slots=True)
class Row:
    page: DocsRow
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
    def pages(self) -> list[DocsRow]:
        """By name, whatever their subcategory."""
        return sorted((row.page for group in self.groups for row in group.rows), key=lambda page: page.name.casefold())

    @property
    def count(self) -> int:
        return sum(len(group.rows) for group in self.groups)

    @property
    def match_count(self) -> int:
        return sum(row.is_match for group in self.groups for row in group.rows)


def sections_of(pages: DocsQuerySet[Any], query: str = "") -> list[Section]:
    """All pages by kind and subcategory, by name; `is_match` marks those that match every word of the query.

    The rest is included, so that widening the filter while typing needs no request.
    """
    words = query.casefold().split()
    by_kind: dict[str, list[Row]] = {kind: [] for kind in DocsKind}
    for page in index_of(pages):
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


def index_of(pages: DocsQuerySet[Any]) -> list[Any]:
    """Every page without its text: one query."""
    return sorted(pages.without_texts(), key=lambda page: (page.name.casefold(), page.slug))


def page_of(pages: DocsQuerySet[Any], kind: str = DocsKind.OVERVIEW, slug: str = INDEX) -> Any | None:
    """The page; for an overview that is missing the README. None if there is neither: the list has other pages.

    Raises NotFound for any other page that is missing.
    """
    page = pages.filter(kind=kind, slug=slug).first()
    if page is None and kind == DocsKind.OVERVIEW:
        return pages.filter(kind=DocsKind.ABOUT, slug=README).first()
    if page is None:
        raise NotFound(f"The documentation has no page {kind}/{slug}.")
    return page


def _words(page: DocsRow) -> str:
    return f"{page.name} {page.title} {page.subcategory}"
