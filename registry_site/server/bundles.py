"""Static files: names with a hash, and one style sheet for each kind of page, joined from static/css at collection.

A page that links to each source fetches 21 files, which compress worse one by one. The cascade does not change: the
first source orders the layers, and the rest keep their order. Comments and indentation stay in the sources.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage, Storage
from whitenoise.storage import CompressedManifestStaticFilesStorage

from apps.lib.process import durable
from registry_site.server.files import replace

_COMMON = ("buttons", "forms", "tables", "cards", "badges", "marks", "navigation")
_INSIDE = ("meters", "copybar", "prose", "tabs", "entries", "source", "keys", "docs", "git", "effects", "checks")


def _sources(*components: str) -> list[str]:
    """In the order of the cascade."""
    return ["tokens.css", "base.css", "layout.css", *(f"components/{name}.css" for name in components), "pages.css"]


# Its name -> its sources in static/css. The pages of signing in have less to show.
BUNDLES = {
    "css/site.css": _sources(*_COMMON, "code", "upload", "charts", "search", *_INSIDE),
    "css/entrance.css": _sources(*_COMMON, "search"),
}


def _rules_of(css: bytes) -> bytes:
    return re.sub(rb"/\*.*?\*/|\s+(?=\n)|(?<=\n)[ \t]+", b"", css, flags=re.DOTALL)


class Bundles(BaseFinder):
    """Finds the joined files in the data folder, and writes them there if a source has changed."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.storage = FileSystemStorage(location=settings.DATA_DIR / "bundles")

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:  # noqa: ARG002
        for name in BUNDLES:
            self._write(name)
            yield name, self.storage

    def find(self, path: str, find_all: bool = False, **_: Any) -> Any:  # noqa: FBT001, FBT002  # Django's signature
        if path not in BUNDLES:
            return []
        found = str(self._write(path))
        return [found] if find_all else found

    def check(self, **_: Any) -> Any:
        return []

    def _write(self, name: str) -> Path:
        """Leave an equal file alone: its date tells whether to collect again."""
        folder = settings.BASE_DIR / "static" / "css"
        joined = b"".join(_rules_of((folder / source).read_bytes()) for source in BUNDLES[name])
        target = Path(self.storage.path(name))
        if not target.is_file() or target.read_bytes() != joined:
            durable.make_folder(target.parent)
            replace(target, joined, mode=0o600)
        return target


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # it ships no types
    """Adds a hash of the content to names, also inside ES module imports (off by default in Django)."""

    support_js_module_import_aggregation = True

    def create_compressor(self, **options: Any) -> Any:
        """Use gzip only: brotli's best level takes seconds at the first start, and browsers cache these files."""
        return super().create_compressor(use_brotli=False, **options)
