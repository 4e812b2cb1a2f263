"""Providers of other registries, for the lists and the search of our own; the room that has them fills in
`providers`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from apps.accounts.access.gate import Viewer


@dataclass(frozen=True, slots=True)
class ElsewhereRow:
    """A provider of another registry. `version`: the newest for clients; `held_back`: a newer one, or ""."""

    host: str
    namespace: str
    type: str
    url: str
    version: str
    held_back: str

    @property
    def address(self) -> str:
        return f"{self.host}/{self.namespace}/{self.type}"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The first rows of `count`, and the page that has all of them."""

    rows: list[ElsewhereRow]
    count: int
    url: str


# What the viewer sees of them: the words of a search ("" finds all), and how many rows.
providers: Callable[[Viewer, str, int], Elsewhere] | None = None


def providers_found(viewer: Viewer, words: str, limit: int) -> Elsewhere | None:
    """None where there are none, or no other registry is mirrored."""
    found = providers(viewer, words, limit) if providers is not None else None
    return found if found is not None and found.count else None
