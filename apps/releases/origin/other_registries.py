"""Modules of other registries, between the room that reads registries and the room that publishes from Git.

Neither imports the other. The first one lists the versions of a module, says what policy decides about each, and
repeats where the registry says that a version is. The second one fetches from there, pins the commit, and remembers
the versions. registry_site/wiring.py sets the two slots at the end of this file.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from apps.accounts.access.gate import Viewer


class NotOffered(Exception):
    """The registry may not be asked, or did not answer as it must. `is_final`: asking again soon changes nothing."""

    def __init__(self, code: str, text: str, *, hint: str = "", is_final: bool = False) -> None:
        super().__init__(text)
        self.code, self.hint, self.is_final = code, hint, is_final


class Seen(Protocol):
    """A version as it is remembered. `known_since`: from when its age counts; None: it is old."""

    @property
    def version(self) -> str: ...
    @property
    def sort_key(self) -> bytes | memoryview: ...
    @property
    def seen_at(self) -> datetime: ...
    @property
    def known_since(self) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Policy does not let a version through; with `is_temporary` a later date will."""

    text: str
    is_temporary: bool


class Offer(Protocol):
    """The versions of a module that a registry lists, and the policy that was in force then."""

    @property
    def versions(self) -> Collection[str]: ...

    def standing_of(
        self, version: str, seen: Seen | None, now: datetime, *, is_first: bool
    ) -> tuple[datetime | None, HeldBack | None]:
        """Return from when its age counts (None: it is old), and what holds it back.

        `seen` is None for a version that was never listed before, `is_first` True for the first list of the module.
        """


class Module(Protocol):
    """A module by its address, which `str` returns: host/namespace/name/system."""

    def require_mirrored(self, viewer: Viewer) -> None:
        """Raises NotFound for a registry that is not mirrored or that the viewer does not see, and Conflict."""

    def offer(self, known: Collection[str]) -> Offer:
        """Ask the registry; the dates of `known` versions are not asked for again. Raises NotOffered."""

    def held_back(self, seen: Seen, now: datetime) -> HeldBack | None:
        """Return what policy says now; the registry is not asked. Raises NotOffered."""

    def location_of(self, version: str) -> str:
        """Ask the registry, and return the text of its answer. Raises NotOffered."""

    def page_to_allow(self, viewer: Viewer) -> str:
        """Return the page on which this viewer lets a version through; empty for most."""


class Modules(Protocol):
    def named(self, text: str) -> Module | None:
        """Return None for what is no address of a module. Raises Invalid for one with a name that none can have."""


class _NoModules:
    def named(self, text: str) -> None:
        """No room reads registries."""


# Set by the room that reads registries.
modules: Modules = _NoModules()
# Set by the room that publishes from Git: the version with this sort key as it was listed for the module of that
# address, or "".
listed_version: Callable[[str, bytes], str] = lambda address, sort_key: ""  # noqa: ARG005, E731
