"""READMEs: rendered and sanitised in the worker, stored as HTML with the renderer's version (D17).

`render(source)` is the safe HTML of a README alone. With `prefix`, `base` and `files` its relative links lead to the
files of its version: `prefix` is `page_path(address, version)`, `base` the folder it stands in ("" or
"modules/subnets"), `files` the names of all files (a frozenset, where several READMEs of one archive are rendered).
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from urllib.parse import quote

from apps.lib.addresses import ModuleAddress
from apps.lib.markdown import rendering
from apps.lib.markdown.links import Place
from apps.lib.markdown.rendering import RENDERER, describe, summary, text_of

__all__ = ["RENDERER", "describe", "page_path", "render", "summary", "text_of"]

_SHOWN_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
# What Django's reverse() leaves as it is, so that the links equal those of the pages.
_SAFE = "/~:@!$&'()*+,;="


def page_path(address: ModuleAddress, version: str) -> str:
    """Where the pages of a version are. The portal's routes say the same, and its tests compare the two."""
    return quote(f"/modules/{address}/{version}", safe="/+")


def render(source: bytes, *, prefix: str = "", base: str = "", files: Collection[str] = ()) -> str:
    return rendering.render(source, _AmongFiles(base, prefix, files))


@dataclass
class _AmongFiles(Place):
    """The README in `base` of a version whose pages are at `prefix` and whose files are `files`."""

    prefix: str = ""
    files: Collection[str] = ()

    @property
    def links(self) -> tuple[str, ...]:
        return (f"{self.prefix}/files",) if self.prefix else ()

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


@lru_cache(maxsize=4)  # the READMEs of one archive ask with the same set
def _folders(names: frozenset[str]) -> frozenset[str]:
    return frozenset(_parents(names)) if names else frozenset()


def _parents(names: frozenset[str]) -> Iterator[str]:
    yield ""
    for name in names:
        while name := name.rpartition("/")[0]:
            yield name
