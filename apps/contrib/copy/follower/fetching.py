"""Keeps the tree of a follower like the leader's: what the signed manifest names, and nothing else.

A pass brings one address after the other up to date. What the leader withdrew goes first, for all of them. Documents
come after the bytes that they lead to; while bytes are missing, lists leave out their versions. So no transfer delays a
withdrawal, and no client sees a version without its bytes. What a pass could not end the next one does, and a blob is
continued where its transfer broke.
"""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import structlog
from django.conf import settings
from django.utils import timezone

from apps.blobs.store import StorageUnavailable
from apps.contrib.copy.follower import leader, trusting
from apps.contrib.copy.follower.leader import LeaderAway
from apps.contrib.copy.follower.trusting import Listed, Refused
from apps.contrib.copy.tree import documents, layout
from apps.contrib.copy.tree.folders import Busy, Folder
from apps.contrib.copy.tree.layout import Address, Rank
from apps.lib.process.periodic import Periodic

EVERY = timedelta(seconds=2)
# A pass that takes longer looks at the manifest again so often.
LOOK_SECONDS = 5.0
THREADS = 8
AT_ONCE = 50  # documents that are durable together
MOST = 64 * 1024 * 1024  # bytes of a shard, a list or a document

# What ends a part of a pass, and operators are told.
TOLD = (LeaderAway, Refused, StorageUnavailable)
NOTHING = Listed(is_public=True, files={})
T = TypeVar("T")

log = structlog.get_logger("larder.follower")


class Changed(Exception):
    """There is another manifest: the next pass begins with it."""


class Outdated(Exception):
    """A file is newer than the manifest: the one after it names the file."""


@dataclass(slots=True)
class Change:
    """`old`: what is in the follower's tree, or may be. `data`: the new list; empty for an address that is gone.

    One thread at a time works on it, with a `folder` of its own.
    """

    address: Address
    data: bytes
    old: Listed
    new: Listed
    folder: Folder = field(default_factory=lambda: Folder(trusting.root()))


def start() -> None:
    """Follow in the background where this Larder is a follower. One process of a host at a time does."""
    if settings.FOLLOW.url:
        _thread.start()


def follow() -> None:
    """Make a pass, unless another process makes one. What went wrong is in the state and in the log."""
    folder = Folder(trusting.root())
    try:
        with folder.held():
            _follow(folder)
    except Busy:
        return


def _follow(folder: Folder) -> None:
    state = trusting.read_state()
    try:
        state |= {"error": "", **_Pass(state, folder).run()}
    except Changed:
        state = trusting.read_state() | {"error": ""}
    except (*TOLD, OSError) as problem:
        if state.get("error") != str(problem):
            log.warning("follower_failed", error=str(problem))
        state = trusting.read_state() | {"error": str(problem)}
    _keep(folder, state | {"looked_at": timezone.now().isoformat()})


class _Pass:
    def __init__(self, state: Mapping[str, Any], folder: Folder) -> None:
        self.state, self.folder, self.root = state, folder, folder.root
        self.raw, self.looked_at = b"", time.monotonic()
        self.problems: list[Exception] = []
        self.missing = 0  # what is newer than the manifest
        self.is_changed, self.lock = False, threading.Lock()

    def run(self) -> dict[str, Any]:
        """Return the news of the state. Raises Changed, LeaderAway, Refused or OSError."""
        self.raw = leader.read(layout.MANIFEST)
        manifest = trusting.verified(self.raw, self.state)
        found = {"sequence": manifest.sequence, "written_at": manifest.written_at, "key_id": manifest.key_id}
        complete = found | {"missing": 0, "complete_at": timezone.now().isoformat()}
        if _bytes_of(self.root / layout.MANIFEST) == self.raw:
            return complete
        _keep(self.folder, {**self.state, **found})  # before anything is taken: no older one comes in after a crash
        wanted = {shard: manifest.shards.get(shard, "") for shard in layout.SHARDS}
        kept = {shard: _bytes_of(self.root / layout.shard_path(shard)).decode() for shard in wanted}
        changed = [shard for shard, digest in wanted.items() if digest != kept[shard]]
        with ThreadPoolExecutor(THREADS) as pool:
            several = list(pool.map(lambda shard: self._safely(self._changes, shard, wanted[shard]), changed))
            changes = [change for some in several for change in some or []]
            list(pool.map(lambda change: self._safely(self._withdraw, change), changes))
            changes.sort(key=_weight)
            list(pool.map(lambda change: self._safely(self._complete, change), changes))
        if self.problems:
            raise self.problems[0]
        if self.missing:
            return found | {"missing": self.missing}
        self.folder.put([(layout.shard_path(shard), wanted[shard].encode()) for shard in changed], is_last=False)
        self.folder.put([(layout.MANIFEST, self.raw)])
        for left in (self.root / "incoming").glob("*"):  # of what was withdrawn before it was here
            left.unlink()
        return complete

    def _safely(self, work: Callable[..., T], *arguments: Any) -> T | None:
        """Do a part of the work; what goes wrong with it does not stop the others. Raises Changed."""
        try:
            return work(*arguments)
        except Outdated:
            self.missing += 1
        except (*TOLD, OSError) as problem:
            self.problems.append(problem)
        return None

    # --- What has changed

    def _changes(self, shard: str, digest: str) -> list[Change]:
        """Return the addresses of a shard that are not as they should be."""
        path = layout.shard_path(shard)
        try:
            lists = trusting.addresses_in(_of(digest, path)) if digest else {}
            # Until all of them are, every pass looks at the shard.
            (self.root / path).unlink(missing_ok=True)
            there = {file.stem: file.read_bytes() for file in (self.root / "manifest" / shard).glob("[0-9a-f]*.json")}
            found = []
            for address, of_list in lists.items():
                old = there.pop(address.digest, b"")
                if hashlib.sha256(old).hexdigest() != of_list:
                    data = _of(of_list, address.list_path)
                    found.append(Change(address, data, _listed(old), trusting.listed_in(data)))
            for old in there.values():
                address = Address.parse(json.loads(old)["address"])
                found.append(Change(address, b"", _listed(old), NOTHING))
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise Refused(f"{path}, or a list that it names, does not belong to a static copy: {problem!r}.") from None
        return found

    # --- How it becomes so

    def _withdraw(self, change: Change) -> None:
        """Note what will be there, so that a crash leaves nothing that is not known; then remove what may not be."""
        old, new = change.old, change.new
        is_moved = bool(old.files) and old.is_public != new.is_public
        gone = [place for place in old.files if is_moved or place not in new.files]
        kept = {place: found for place, found in old.files.items() if place not in gone}
        noted = {place: found for place, found in new.files.items() if kept.get(place, found) == found}
        # A list may lack versions from now on, so no pass takes it for the leader's.
        unsure = {place: ("", 0) for place in new.files if place not in noted or layout.rank_of(place) == Rank.LIST}
        if is_moved:
            self._note(change, Listed(old.is_public, old.files))
        leaving = sorted(gone, key=layout.rank_of, reverse=True)
        for place in leaving:
            path, (digest, _) = self._path(place, old), old.files[place]
            if digest and new.files.get(place) == old.files[place] and path.exists():
                path.replace(self._incoming(change, digest))
        change.folder.remove([layout.path_of(place, is_public=old.is_public) for place in leaving])
        change.old = Listed(new.is_public, kept)
        self._note(change, Listed(new.is_public, noted | unsure))

    def _complete(self, change: Change) -> None:
        new, old = change.new, change.old.files
        missing = [place for place in new.files if layout.rank_of(place) <= Rank.SIGNATURE]
        missing = [place for place in missing if not self._has(place, new, old.get(place))]
        if missing:
            self._write_documents(change, {layout.version_at(place) for place in missing})
        for place in sorted(missing, key=lambda place: (layout.rank_of(place), new.files[place][1])):
            self._fetch(change, place)
        self._write_documents(change, ())
        path = change.address.list_path
        if change.data:
            change.folder.put([(path, change.data)])
        else:  # and not its folder, into which another thread may write
            (self.root / path).unlink(missing_ok=True)

    def _has(self, place: str, new: Listed, old: tuple[str, int] | None) -> bool:
        path, (digest, size) = self._path(place, new), new.files[place]
        if path.exists() and old is None:  # from a pass that died
            return _sha256(path) == digest
        return old == new.files[place] and path.exists() and path.stat().st_size == size

    def _write_documents(self, change: Change, without: Collection[str]) -> None:
        """Write downloads, then lists, as if there were not some of the versions."""
        new, old = change.new, change.old.files
        ranked = {rank: [place for place in new.files if layout.rank_of(place) == rank] for rank in Rank}
        coming = [
            place
            for place in ranked[Rank.DOWNLOAD]
            if layout.version_at(place) not in without
            and not (old.get(place) == new.files[place] and self._path(place, new).exists())
        ]
        for start in range(0, len(coming), AT_ONCE):
            change.folder.put([self._document(place, new) for place in coming[start : start + AT_ONCE]], is_last=False)
        lists = [(place, *self._document(place, new)) for place in ranked[Rank.LIST]]
        change.folder.put(
            [
                (path, documents.trimmed(place, data, lambda one: one not in without) if without else data)
                for place, path, data in lists
            ]
        )

    def _document(self, place: str, listed: Listed) -> tuple[str, bytes]:
        self._look()
        path = layout.path_of(place, is_public=listed.is_public)
        return path, _of(listed.files[place][0], path)

    def _fetch(self, change: Change, place: str) -> None:
        """Fetch a blob, or the rest of one, and put it into its place. Raises LeaderAway, Refused or Changed."""
        path, (digest, size) = layout.path_of(place, is_public=change.new.is_public), change.new.files[place]
        part = self._incoming(change, digest)
        begun = part.stat().st_size if part.exists() else 0
        if begun < size or not part.exists():
            headers = {"Range": f"bytes={begun}-"} if begun else {}
            with leader.opened(path, headers=headers) as answer, part.open("ab") as file:
                if not answer.headers.get("Content-Range"):
                    file.truncate(0)
                for chunk in answer.chunks(size):
                    file.write(chunk)
                    self._look()
        if (found := _sha256(part)) != digest:
            part.unlink()
            raise Refused(f"{path} has the digest {found}, expected {digest} as its list says. It is fetched again.")
        change.folder.put([(path, part)])
        part.unlink()

    def _look(self) -> None:
        """Raise Changed if there is another manifest, which may withdraw something."""
        with self.lock:
            if not self.is_changed and time.monotonic() - self.looked_at < LOOK_SECONDS:
                return
            self.looked_at = time.monotonic()
        self.is_changed = self.is_changed or leader.read(layout.MANIFEST) != self.raw
        if self.is_changed:
            raise Changed

    def _path(self, place: str, listed: Listed) -> Path:
        return self.root / layout.path_of(place, is_public=listed.is_public)

    def _incoming(self, change: Change, digest: str) -> Path:
        """The file of a blob until it has its place. Another address may fetch the same bytes at the same time."""
        folder = self.root / "incoming"
        folder.mkdir(exist_ok=True)
        return folder / f"{change.address.digest[:16]}-{digest}"

    def _note(self, change: Change, listed: Listed) -> None:
        side = layout.side(is_public=listed.is_public)
        # No list of the leader has the last field, so the address does not count as done.
        document = {"address": str(change.address), "visibility": side, "files": dict(listed.files), "noted": True}
        change.folder.put([(change.address.list_path, json.dumps(document).encode())])


def _weight(change: Change) -> int:
    """Return how many bytes have to come: small changes do not wait for large ones."""
    return sum(size for place, (_, size) in change.new.files.items() if place not in change.old.files)


def _listed(data: bytes) -> Listed:
    return trusting.listed_in(data) if data else NOTHING


def _of(digest: str, path: str) -> bytes:
    """Read a file of the leader's tree that must have this digest. Raises Outdated if it has another."""
    data = leader.read(path, most=MOST)
    if hashlib.sha256(data).hexdigest() != digest:
        raise Outdated(path)
    return data


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _keep(folder: Folder, state: Mapping[str, Any]) -> None:
    folder.put([("state.json", json.dumps(state).encode())])


_thread = Periodic("follower", follow, every=EVERY, rest=lambda: None)
