"""The texts of docs in a provider package whose entries a check has listed."""

import zlib
from collections.abc import Callable, Collection, Iterator

import structlog

from apps.lib.archives.inflating import first_bytes
from apps.lib.archives.sandboxed import Entry
from apps.releases.docs import layouts
from apps.releases.docs.layouts import Place

MAX_TEXT_BYTES = 512 * 1024
MAX_TOTAL_TEXT_BYTES = 24 * 1024 * 1024

log = structlog.get_logger("larder.releases")


def package_texts(
    digest: str, entries: Collection[Entry], read: Callable[..., Iterator[bytes]], *, is_foreign: bool = False
) -> dict[Place, bytes]:
    """The pages in a package. Skips pages beyond the limits: clients still want the package.

    `read` is asked for ranges of the zip, as `store.read` is. `is_foreign`: also README, changelog and licence.
    """
    files = {entry.name: entry for entry in entries if not entry.is_dir}
    pages, left = layouts.pages_in(files, is_archive=False), MAX_TOTAL_TEXT_BYTES
    if is_foreign:
        pages = layouts.about_in(files) | pages
    texts: dict[Place, bytes] = {}
    for place, name in list(pages.items())[: layouts.MAX_PAGES]:
        entry = files[name]
        if entry.size > min(MAX_TEXT_BYTES, left):
            log.warning("docs_page_left_out", package=digest, page=name[:200], size=entry.size)
            continue
        left -= entry.size
        try:
            texts[place] = first_bytes(read, at=entry.at, packed=entry.packed, method=entry.method, most=MAX_TEXT_BYTES)
        except zlib.error:
            log.warning("docs_page_unreadable", package=digest, page=name[:200])
    return texts
