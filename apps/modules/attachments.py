"""What a module's repository keeps beside its versions: artifacts attached to one, and tags that are no versions.

The repositories are tables of an edge, and pages are another edge: neither may know the other. So the edge that keeps
them says here, once, how they are read (`register`), and pages ask here. Where nobody keeps any there are none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from apps.modules.models import Module, ModuleVersion


@dataclass(frozen=True, slots=True)
class Attachment:
    """`kind`: its artifact type, or the tag by which an older client attached it. `size`: of all its blobs."""

    kind: str
    digest: str
    size: int
    at: datetime
    by: str


@dataclass(frozen=True, slots=True)
class MovedTag:
    name: str
    digest: str
    at: datetime
    by: str


class Shelf(Protocol):
    def attached(self, module: Module, digest: str, most: int) -> Sequence[Attachment]: ...

    def tags(self, module: Module, most: int) -> Sequence[MovedTag]: ...


_shelves: list[Shelf] = []


def register(shelf: Shelf) -> None:
    if shelf not in _shelves:
        _shelves.append(shelf)


def of_version(version: ModuleVersion, *, most: int) -> list[Attachment]:
    """Newest first. Asks no gate: whoever calls has let the viewer see the version."""
    if not version.manifest_digest:
        return []
    return [one for shelf in _shelves for one in shelf.attached(version.module, version.manifest_digest, most)]


def tags_of(module: Module, *, most: int) -> list[MovedTag]:
    """Those that are no versions, and no artifact's; the one that was moved last first."""
    return [one for shelf in _shelves for one in shelf.tags(module, most)]
