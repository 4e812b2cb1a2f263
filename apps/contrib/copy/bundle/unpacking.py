"""Lay out a bundle as the static tree that a web server serves: documents, and bytes as hard links to its blobs."""

import errno
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from apps.contrib.copy.bundle import contents, trees
from apps.contrib.copy.bundle.contents import BadBundle
from apps.contrib.copy.bundle.verifying import Opened
from apps.contrib.copy.tree import layout

# Says which bundle the tree is of.
STATE = "bundle.json"


def unpack(opened: Opened, target: Path) -> tuple[int, int]:
    """Make the tree that of the verified bundle; return how many files were written and removed.

    Files come in the order in which clients read them backwards, each by a rename, and go in reverse: a client never
    sees a version without its bytes. Safe to repeat. Raises BadBundle before it writes, if the tree has a newer bundle
    or one of another registry, or lacks bytes that this bundle counts on.
    """
    _require_newer(opened, target)
    stored, made = trees.unpacked(opened.whole(opened.catalogue.tree))
    texts = dict(made)
    for path, digest in stored.items():
        if digest not in opened.catalogue.blobs and not _has(target / path, digest):
            raise BadBundle(
                f"The bundle leaves out {path}, which the one before it has brought, and {target} does not have it.",
                hint=f"Unpack the bundle {opened.catalogue.since or '(the whole one)'} first, or ask for a whole one.",
            )
    written = 0
    for path in sorted([*stored, *texts], key=lambda one: (layout.rank_of(one.partition("/")[2]), one)):
        if path in texts:
            raw = texts[path]
            is_there = (target / path).is_file() and (target / path).read_bytes() == raw
            if not is_there:
                _put(target / path, partial(_write, raw))
        elif not (is_there := stored[path] not in opened.catalogue.blobs):
            source = opened.path(stored[path])
            if not (is_there := _is_there(target / path, source, stored[path])):
                _put(target / path, partial(_link, source))
        written += not is_there
    removed = 0
    superfluous = [path for path in _present(target) if path not in stored and path not in texts]
    for path in sorted(superfluous, key=lambda one: layout.rank_of(one.partition("/")[2]), reverse=True):
        (target / path).unlink()
        removed += 1
    state = {"root": opened.root, "registry": opened.catalogue.registry, "made_at": opened.catalogue.made_at}
    _put(target / STATE, partial(_write, contents.canonical(state)))
    return written, removed


def _require_newer(opened: Opened, target: Path) -> None:
    try:
        before = json.loads((target / STATE).read_bytes())
    except FileNotFoundError:
        if any(_present(target)):
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


def _present(target: Path) -> Iterator[str]:
    for folder in ("public", "private"):
        for path in (target / folder).rglob("*"):
            if not path.is_dir() or path.is_symlink():
                yield path.relative_to(target).as_posix()


def _has(path: Path, digest: str) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest.removeprefix("sha256:")
    return False


def _is_there(path: Path, source: Path, digest: str) -> bool:
    with suppress(OSError):
        return path.samefile(source) or _has(path, digest)
    return False


def _write(raw: bytes, temporary: Path) -> None:
    temporary.write_bytes(raw)
    temporary.chmod(0o644)


def _link(source: Path, temporary: Path) -> None:
    try:
        os.link(source, temporary)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP):
            raise
        shutil.copyfile(source, temporary)  # another disk, or a file system without links


def _put(path: Path, write: Callable[[Path], object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}")
    try:
        write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
