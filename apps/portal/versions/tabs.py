"""The tabs of a version: one table for modules and providers, in the order of the pages, with those of rooms in it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apps.portal.frame.page_urls import Address, url_of
from apps.releases.catalogue.marks import Mark
from apps.releases.models import Kind
from apps.room import Room, VersionTab, rooms


@dataclass(frozen=True, slots=True)
class Declared:
    """`only`: of one kind. `of_all`: about all versions, with an address that names none."""

    page: str
    label: str
    only: Kind | None = None
    of_all: bool = False


@dataclass(frozen=True, slots=True)
class Tab:
    page: str
    label: str
    url: str
    count: int | None = None


_BEFORE = (
    Declared("version", "README", only=Kind.MODULE),
    Declared("version", "Overview", only=Kind.PROVIDER),
    Declared("docs", "Documentation", only=Kind.PROVIDER),
    Declared("inputs", "Inputs", only=Kind.MODULE),
    Declared("outputs", "Outputs", only=Kind.MODULE),
    Declared("resources", "Resources", only=Kind.MODULE),
    Declared("dependencies", "Dependencies", only=Kind.MODULE),
    Declared("submodules", "Submodules", only=Kind.MODULE),
    Declared("examples", "Examples", only=Kind.MODULE),
    Declared("versions", "Versions", of_all=True),
    Declared("files", "Files", only=Kind.MODULE),
    Declared("platforms", "Platforms", only=Kind.PROVIDER),
    Declared("origin", "Origin"),
)
_AFTER = (Declared("users", "Usage", of_all=True),)


def of_rooms() -> Iterator[tuple[Room, VersionTab]]:
    return ((room, tab) for room in rooms() for tab in room.version_tabs)


def table(kind: Kind) -> list[Declared]:
    """All that a page of this kind can have, in their order."""
    more = (Declared(tab.page, tab.label) for _, tab in of_rooms())
    return [one for one in (*_BEFORE, *more, *_AFTER) if one.only in (None, kind)]


def shown(kind: Kind, address: Address, version: str, counts: Mapping[str, int | None], current: str) -> list[Tab]:
    """Those in `counts`: how many rows each has, None for those that are not counted. One with none is left out."""
    return [
        Tab(one.page, one.label, url_of(address, one.page, *([] if one.of_all else [version])), counts[one.page])
        for one in table(kind)
        if one.page in counts and (counts[one.page] != 0 or one.page == current)
    ]


def of_room(page: str) -> VersionTab | None:
    return next((tab for _, tab in of_rooms() if tab.page == page), None)


def counts_of_rooms(opened: Any, marks: Iterable[Mark]) -> dict[str, int | None]:
    """`marks` are those of the version, whatever its state."""
    by_page = {mark.page: mark for mark in marks}
    return {
        tab.page: room.resolved(tab.count)(opened, by_page.get(tab.page)) if tab.count else None
        for room, tab in of_rooms()
    }
