"""Map files of an archive to pages: the current layout (`docs/resources/…`) and the old one (`website/docs/r/…`)."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from apps.releases.docs.models import DocsKind

# Both layouts accept the folder names of both: authors move files before they rename them.
FOLDERS = {
    "guides": DocsKind.GUIDE,
    "resources": DocsKind.RESOURCE,
    "r": DocsKind.RESOURCE,
    "data-sources": DocsKind.DATA_SOURCE,
    "d": DocsKind.DATA_SOURCE,
    "functions": DocsKind.FUNCTION,
    "ephemeral-resources": DocsKind.EPHEMERAL,
    "list-resources": DocsKind.LIST,
    "actions": DocsKind.ACTION,
}
ROOTS = ("docs/", "website/docs/")
INDEX = "index"
README, LICENCE = "readme", "license"
MAX_PAGES = 4_000
_SUFFIX = re.compile(r"\.(?:html\.markdown|html\.md|markdown|md)$", re.IGNORECASE)
_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
# As GoReleaser packs them, beside the program.
_ABOUT = re.compile(r"(?P<slug>readme|changelog|license)(?:\.md|\.markdown|\.txt)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """The subject of a page. The overview is the page `index`."""

    kind: DocsKind
    slug: str


def place_of(path: str) -> Place | None:
    """The page at `path`, relative to the docs folder, with or without suffix."""
    folder, _, last = path.rpartition("/")
    slug = _SUFFIX.sub("", last).removesuffix(".html")
    if not folder and slug == INDEX:
        return Place(DocsKind.OVERVIEW, INDEX)
    kind = FOLDERS.get(folder)
    return Place(kind, slug) if kind and _SLUG.fullmatch(slug) else None


def pages_in(names: Collection[str], *, is_archive: bool) -> dict[Place, str]:
    """Each page's file; empty if there are no docs. Of two files for one page the first by name counts.

    A docs archive may also have the folder's contents at its top level, or in a single folder.
    """
    tops = {name.partition("/")[0] for name in names}
    around = dict.fromkeys(("", f"{tops.pop()}/" if len(tops) == 1 else ""))
    roots = [f"{before}{root}" for before in around for root in (*ROOTS, "")] if is_archive else ROOTS
    for root in roots:
        found: dict[Place, str] = {}
        for name in sorted(names):
            if not (name.startswith(root) and _SUFFIX.search(name)):
                continue
            place = place_of(name.removeprefix(root))
            if place is not None:
                found.setdefault(place, name)
        if found:
            return found
    return {}


def about_of(path: str) -> Place | None:
    """The page of a file at the top of a package that says what the package is."""
    about = _ABOUT.fullmatch(path)
    return Place(DocsKind.ABOUT, about["slug"].lower()) if about else None


def about_in(names: Collection[str]) -> dict[Place, str]:
    """Each such page's file. Of two files for one page the first by name counts."""
    found: dict[Place, str] = {}
    for name in sorted(names):
        if place := about_of(name):
            found.setdefault(place, name)
    return found
