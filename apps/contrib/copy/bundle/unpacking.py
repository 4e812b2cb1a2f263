"""Lay out a bundle as the static tree that a web server serves: documents, and bytes as hard links to its blobs."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from apps.contrib.copy.bundle import contents, trees
from apps.contrib.copy.bundle.contents import BadBundle
from apps.contrib.copy.bundle.verifying import Opened
from apps.contrib.copy.tree import layout
from apps.contrib.copy.tree.folders import Folder
from apps.contrib.copy.tree.layout import Rank
from apps.lib.formats.oci_manifests import digest_of

# Says which bundle the tree is of.
STATE = "bundle.json"


def unpack(opened: Opened, target: Path) -> tuple[int, int]:
    """Make the tree that of the verified bundle; return how many files were written and removed.

    Files come in the order in which clients read them backwards, and go in reverse: a client never sees a version
    without its bytes. Safe to repeat. Raises BadBundle before it writes, if the tree has a newer bundle or one of
    another registry, or lacks bytes that this bundle counts on; Busy, StorageUnavailable.
    """
    folder = Folder(target)
    _require_newer(opened, folder)
    stored, made = trees.unpacked(opened.whole(opened.catalogue.tree))
    texts = dict(made)
    known = {path for path, digest in stored.items() if digest not in opened.catalogue.blobs}
    for path in known:
        if not _has(target / path, stored[path]):
            raise BadBundle(
                f"The bundle leaves out {path}, which the one before it has brought, and {target} does not have it.",
                hint=f"Unpack the bundle {opened.catalogue.since or '(the whole one)'} first, or ask for a whole one.",
            )
    sources = {path: opened.path(digest) for path, digest in stored.items() if path not in known}
    coming = [path for path, source in sources.items() if not _is_there(target / path, source, stored[path])]
    coming += [path for path, raw in texts.items() if not _has(target / path, digest_of(raw))]
    files = sources | texts
    with folder.held():
        leaving = [path for path in folder.paths() if path not in stored and path not in texts]
        for rank in Rank:
            some = [path for path in coming if _rank(path) == rank]
            for start in range(0, len(some), folder.at_once):
                batch = some[start : start + folder.at_once]
                folder.put([(path, files[path]) for path in batch], is_last=False)
        for rank in reversed(Rank):
            folder.remove([path for path in leaving if _rank(path) == rank], is_last=False)
        state = {"root": opened.root, "registry": opened.catalogue.registry, "made_at": opened.catalogue.made_at}
        folder.put([(STATE, contents.canonical(state))])
    return len(coming), len(leaving)


def _require_newer(opened: Opened, folder: Folder) -> None:
    target = folder.root
    try:
        before = json.loads((target / STATE).read_bytes())
    except FileNotFoundError:
        if any(folder.paths()):
            raise BadBundle(
                f"{target} has a tree that is of no bundle.", hint="Name an empty folder, or that of an earlier bundle."
            ) from None
        return
    if before["registry"] != opened.catalogue.registry:
        raise BadBundle(
            f"{target} is of {before['registry']}, and this bundle of {opened.catalogue.registry}.",
            hint="Name another folder.",
        )
    if before["made_at"] > opened.catalogue.made_at:
        raise BadBundle(
            f"The bundle of {opened.catalogue.made_at} is older than that of {before['made_at']}, which {target} has: "
            "a version that was withdrawn would come back.",
            hint="Take the newest bundle.",
        )


def _rank(path: str) -> Rank:
    return layout.rank_of(path.partition("/")[2])


def _has(path: Path, digest: str) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest.removeprefix("sha256:")
    return False


def _is_there(path: Path, source: Path, digest: str) -> bool:
    with suppress(OSError):
        return path.samefile(source) or _has(path, digest)
    return False
