"""The changes in a release that awaits approval, before it is stored: those that the page of two published versions
shows.
"""

import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import partial
from typing import Any, BinaryIO

from apps.lib.archives.inflating import first_bytes, parts_of
from apps.lib.archives.sandboxed import Listing
from apps.lib.errors import NotFound, Unavailable
from apps.modules.comparing import guard
from apps.modules.comparing.changes import SENTENCES, between
from apps.modules.comparing.versions import MAX_BYTES, TextOf, differences_in, files_between, stored_text
from apps.modules.contents import files
from apps.modules.models import ModuleVersion
from apps.releases.catalogue.comparing import Comparison, noted
from apps.releases.models import Release

# Of each list of files.
MAX_NAMES = 500


def compare(
    release: Release,
    *,
    fields: dict[str, Any],
    listing: Listing,
    opened: Callable[[], AbstractContextManager[BinaryIO]],
) -> dict[str, Any]:
    """`fields` are the columns of the version to be, `opened` its archive. Empty `against`: nothing is published yet.

    Reads storage. What it cannot read is named in place of its lines: an old archive that is damaged refuses nothing.
    """
    chosen = guard.previous_of(release.namespace, release.name, release.version)
    if chosen is None:
        names = [one["name"] for one in fields["files"]]
        return {"against": "", "files": {"added": names[:MAX_NAMES], "removed": [], "changed": []}}
    before = ModuleVersion.objects.select_related("release__namespace", "module__namespace").get(pk=chosen)
    address = before.module.address
    changes = between(before.inspection, fields["inspection"])
    comparison = Comparison(address, before.release, release, changes, SENTENCES)
    found = files_between(before.files, fields["files"])
    with opened() as archive:
        texts = differences_in(found.changed, _forgiving(partial(stored_text, before)), _text_in(listing, archive))
    return noted(comparison) | {
        "files": {name: value[:MAX_NAMES] for name, value in asdict(found).items()},
        "texts": {
            "shown": [asdict(one) | {"added": one.added, "removed": one.removed} for one in texts.shown],
            "left_out": texts.left_out,
        },
    }


def _forgiving(read: TextOf) -> TextOf:
    def text_of(name: str) -> str | None:
        try:
            return read(name)
        except (Unavailable, NotFound):
            return None

    return text_of


def _text_in(listing: Listing, archive: BinaryIO) -> TextOf:
    entries = {entry.name: entry for entry in listing.entries if not entry.is_dir}

    def text_of(name: str) -> str | None:
        entry = entries.get(name)
        if entry is None or entry.size > MAX_BYTES:
            return None
        read = partial(parts_of, archive)
        try:
            data = first_bytes(read, at=entry.at, packed=entry.packed, method=entry.method, most=MAX_BYTES)
        except zlib.error:
            return None
        return files.text_of(data, is_cut=False)

    return text_of
