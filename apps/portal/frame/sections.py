"""Sections that rooms add to pages of others: to the page of a release, that which compares two versions, the block
that calls a module, the page that writes to users, and the pages of a namespace, a version and its siblings.
"""

from dataclasses import dataclass
from typing import Any

from apps.accounts.access.gate import Viewer
from apps.room import rooms


@dataclass(frozen=True, slots=True)
class Section:
    template: str
    found: dict[str, Any]


def sections_of(page: str, viewer: Viewer, subject: Any) -> list[Section]:
    """Return those that have something to say about the subject of the page to this viewer."""
    return [
        Section(template, found)
        for room in rooms()
        for template, name in room.page_sections.get(page, ())
        if (found := room.resolved(name)(viewer, subject)) is not None
    ]
