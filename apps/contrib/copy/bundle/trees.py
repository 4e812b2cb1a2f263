"""The static tree of what a bundle has: its documents as one deterministic tar, whose first member says which blob each
other file is.
"""

import io
import json
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

from apps.contrib.copy.bundle import contents
from apps.contrib.copy.bundle.contents import BadBundle, Item
from apps.contrib.copy.tree import documents, layout
from apps.contrib.copy.tree.documents import Stored
from apps.contrib.copy.tree.layout import Address, Kind

# The first member: {path in the tree: digest of the blob}.
BYTES = "bytes.json"


def packed(items: Iterable[Item], *, now: datetime) -> bytes:
    """Return the tar of the documents that name these versions and no others."""
    versions: dict[Address, set[str]] = defaultdict(set)
    for one in items:
        if one.files:
            versions[documents_address(one)].add(one.version)
    stored: dict[str, str] = {}
    made: dict[str, bytes] = {}
    for address in sorted([*versions, Address(Kind.DISCOVERY)]):
        rendered = documents.render(address, now=now)
        for place, content in rendered.files.items():
            path = layout.path_of(place, is_public=rendered.is_public)
            is_list, has = layout.rank_of(place) == layout.Rank.LIST, versions[address].__contains__
            if not is_list and not has(layout.version_at(place)):
                continue
            if isinstance(content, Stored):
                stored[path] = f"sha256:{content.digest}"
            else:
                is_of_versions = is_list and address.kind != Kind.DISCOVERY
                made[path] = documents.trimmed(place, content, has) if is_of_versions else content
    return written([(BYTES, contents.canonical(stored)), *sorted(made.items())])


def written(members: Iterable[tuple[str, bytes]]) -> bytes:
    """The same files always give the same tar."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, raw in members:
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(raw), 0o644
            tar.addfile(member, io.BytesIO(raw))
    return buffer.getvalue()


def documents_address(item: Item) -> Address:
    """The address as the tree writes it."""
    if item.kind == Kind.PROVIDER:
        namespace, _, name = item.address.partition("/")
        return documents.of_release("provider", namespace, name)
    return item.place


def unpacked(raw: bytes) -> tuple[dict[str, str], Iterator[tuple[str, bytes]]]:
    """Return the digest of each file that is a blob, by path, and the documents by theirs.

    Raises BadBundle for a path that leaves the tree, or that is there twice.
    """
    try:
        tar = tarfile.TarFile(fileobj=io.BytesIO(raw))
        members = tar.getmembers()
        first = tar.extractfile(members[0])
        stored = dict(json.loads(first.read())) if first and members[0].name == BYTES else {}
    except (tarfile.TarError, ValueError, IndexError) as problem:
        raise BadBundle(f"The documents of the bundle cannot be read: {problem}.") from None
    paths = [*stored, *(one.name for one in members[1:])]
    seen: set[str] = set()
    for path in paths:
        folder, _, place = path.partition("/")
        if folder not in ("public", "private") or not layout.is_place(place):
            raise BadBundle(f"The bundle has a file at {path[:200]!r}, which leaves the tree.", hint="Do not use it.")
        if path in seen:
            raise BadBundle(f"The bundle has two files at {path}: one would overwrite the other.")
        seen.add(path)
    if wrong := next((one for one in members[1:] if not one.isfile()), None):
        raise BadBundle(f"{wrong.name} in the documents of the bundle is not a file.", hint="Do not use it.")

    def made() -> Iterator[tuple[str, bytes]]:
        for one in members[1:]:
            file = tar.extractfile(one)
            assert file is not None  # noqa: S101  # it is a file
            yield one.name, file.read()

    return stored, made()
