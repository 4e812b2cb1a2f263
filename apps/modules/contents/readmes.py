"""The READMEs of all folders of a module, rendered in sandboxed children.

They run beside the children that read the HCL; these two take longer than anything else in a publish.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO

import structlog

from apps.lib.archives.layouts import is_module_file
from apps.lib.archives.sandboxed import Listing
from apps.lib.sandbox import parent
from apps.lib.sandbox.positioned import Place
from apps.lib.sandbox.shares import one_file, shares_of
from apps.modules.inspection import README_NAMES, units

# For all folders together; those directly in modules/ and examples/ come first.
MAX_README_BYTES = 4 * 1024 * 1024
BYTES_FOR_A_CHILD = 64 * 1024  # less takes no longer than to start another
_PROGRAM = "apps.modules.contents.child"

log = structlog.get_logger("larder.releases")


@dataclass(slots=True)
class Readmes:
    """By folders. `pages` has HTML and summary; a folder whose child failed is missing, and `was_rendered` False."""

    sources: dict[str, bytes]
    pages: dict[str, tuple[str, str]] = field(default_factory=dict)
    was_rendered: bool = True


@contextmanager
def rendering(listing: Listing, files: Iterable[str], prefix: str) -> Iterator[Readmes]:
    """Render while the block runs. The result is complete after it."""
    found = Readmes(_sources(listing))
    shares = shares_of(found.sources, lambda folder: len(found.sources[folder]), least=BYTES_FOR_A_CHILD)
    with one_file(found.sources) as (file, places), ThreadPoolExecutor(len(shares)) as pool:
        ask = partial(_rendered, file, {"files": list(files), "prefix": prefix})
        asked = [pool.submit(ask, [places[folder] for folder in share]) for share in shares if share]
        yield found
        for one in asked:
            pages = one.result()
            found.was_rendered &= pages is not None
            found.pages |= pages or {}


def _rendered(file: BinaryIO, request: dict[str, Any], share: list[Place]) -> dict[str, tuple[str, str]] | None:
    try:
        answer = parent.run(program=_PROGRAM, request=request | {"readmes": share}, stdin=file, site_packages=True)
    except (parent.TooExpensive, parent.CheckBroken) as error:
        log.warning("readmes_not_rendered", error=str(error))  # a publish must not fail because a page has no README
        return None
    return {folder: (html, summary) for folder, (html, summary) in answer["pages"].items()}


def _sources(listing: Listing) -> dict[str, bytes]:
    """The README of the root and of each folder that is a module, preferred in the order of README_NAMES."""
    found: dict[str, bytes] = {}
    for preferred in README_NAMES:
        for name, text in listing.texts.items():
            folder, _, file_name = name.rpartition("/")
            if file_name.lower() == preferred and text:
                found.setdefault(folder, text)
    names = (entry.name for entry in listing.entries if not entry.is_dir)
    shown = {"": found[""]} if "" in found else {}
    room = MAX_README_BYTES
    for unit in units.folders_of(name for name in names if is_module_file(name.rpartition("/")[2])):
        if unit.path and unit.path in found and len(found[unit.path]) <= room:
            shown[unit.path] = found[unit.path]
            room -= len(found[unit.path])
    return shown
