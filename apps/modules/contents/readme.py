"""READMEs, rendered and sanitised in the worker, stored as HTML with the renderer's version (D17).

`render(source)` returns the safe HTML of a single README. With `prefix`, `base` and `files`, relative links lead to the
files of its version: `prefix` is `page_path(address, version)`, `base` the README's folder ("" or "modules/subnets"),
`files` the names of all files (a frozenset: several READMEs of one archive share it).
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import unescape
from urllib.parse import quote

from apps.lib.addresses import ModuleAddress
from apps.lib.markdown import rendering
from apps.lib.markdown.links import Place
from apps.lib.markdown.rendering import RENDERER, Known, describe, summary, text_of

__all__ = ["RENDERER", "Heading", "Known", "describe", "headings", "page_path", "render", "summary", "text_of"]

# A table of contents helps from about two screens and a few headings on.
LONG = 5_000
MIN_HEADINGS, MAX_HEADINGS = 4, 60
_OUTLINE = re.compile(
    r'<(?P<end>/?)(?P<tag>details)>|<h(?P<level>[2-6]) id="(?P<id>[^"]+)">(?P<text>.{0,2000}?)</h', re.DOTALL
)
_TAGS = re.compile(r"<[^<>]*>")
_SHOWN_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
# Characters that Django's reverse() does not quote, so that links equal those of the pages.
_SAFE = "/~:@!$&'()*+,;="


def page_path(address: ModuleAddress, version: str) -> str:
    """The path of a version's pages. Repeats the portal's routes, and its tests compare the two."""
    return quote(f"/modules/{address}/{version}", safe="/+")


def render(source: bytes, *, prefix: str = "", base: str = "", files: Collection[str] = ()) -> str:
    return rendering.render(source, _AmongFiles(base, prefix, files))


def render_and_summarise(
    source: bytes, *, prefix: str, base: str, files: Collection[str], known: Known | None = None
) -> tuple[str, str]:
    """`known` as for `rendering.render_and_summarise`."""
    return rendering.render_and_summarise(source, _AmongFiles(base, prefix, files), known)


@dataclass(frozen=True, slots=True)
class Heading:
    anchor: str
    text: str
    is_below: bool  # on the second of the two levels


def headings(html: str) -> list[Heading]:
    """The table of contents of a long rendered README: two levels of headings outside folds. Empty for short ones."""
    if len(html) < LONG:
        return []
    outline, folds = [], 0
    for match in _OUTLINE.finditer(html):
        if match["tag"]:
            folds += -1 if match["end"] else 1
        elif folds <= 0:
            outline.append((int(match["level"]), match["id"], unescape(_TAGS.sub("", match["text"])).strip()))
    levels = sorted({level for level, _, _ in outline})
    if levels and sum(level == levels[0] for level, _, _ in outline) == 1:
        del levels[0]  # the title
    shown = [
        Heading(anchor, text, level > levels[0]) for level, anchor, text in outline if level in levels[:2] and text
    ]
    return shown[:MAX_HEADINGS] if len(shown) >= MIN_HEADINGS else []


@dataclass
class _AmongFiles(Place):
    """The README in folder `base` of a version whose pages are at `prefix` and whose files are `files`."""

    prefix: str = ""
    files: Collection[str] = ()

    @property
    def links(self) -> tuple[str, ...]:
        return (f"{self.prefix}/files", *(url for _, url in self.tabs)) if self.prefix else ()

    @property
    def tabs(self) -> tuple[tuple[str, str], ...]:
        is_root = self.prefix and not self.base
        return (("Inputs", f"{self.prefix}/inputs"), ("Outputs", f"{self.prefix}/outputs")) if is_root else ()

    @property
    def pictures(self) -> tuple[str, ...]:
        return (f"{self.prefix}/raw/",) if self.prefix else ()

    def page_of(self, path: str, fragment: str) -> str | None:
        if not (path in self._names or path in _folders(self._names)):
            return None
        anchor = f"#{fragment}" if fragment and path in self._names else ""
        return f"{self.prefix}/files/{quote(path, safe=_SAFE)}".removesuffix("/") + anchor

    def picture_of(self, path: str) -> str | None:
        if path not in self._names or not path.lower().endswith(_SHOWN_IMAGES):
            return None
        return f"{self.prefix}/raw/{quote(path, safe=_SAFE)}"

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.files) if self.prefix else frozenset()


@lru_cache(maxsize=4)  # the READMEs of one archive share the set
def _folders(names: frozenset[str]) -> frozenset[str]:
    return frozenset(_parents(names)) if names else frozenset()


def _parents(names: frozenset[str]) -> Iterator[str]:
    yield ""
    for name in names:
        while name := name.rpartition("/")[0]:
            yield name
