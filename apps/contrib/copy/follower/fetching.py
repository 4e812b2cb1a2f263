"""Keeps the tree of a follower like the leader's: what the signed manifest names, and nothing else.

A pass brings one address after the other up to date. What the leader withdrew goes first, for all of them. Documents
come after the bytes that they lead to; while bytes are missing, lists leave out their versions. So no transfer delays a
withdrawal, and no client sees a version without its bytes. What a pass could not end the next one does, and a blob is
continued where its transfer broke.
"""

import fcntl
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import structlog
from django.conf import settings
from django.utils import timezone

from apps.contrib.copy.follower import leader, trusting
from apps.contrib.copy.follower.leader import LeaderAway
from apps.contrib.copy.follower.trusting import Listed, Refused
from apps.contrib.copy.tree import layout
from apps.contrib.copy.tree.layout import Address, Rank
from apps.lib.process.periodic import Periodic

EVERY = timedelta(seconds=2)
# A pass that takes longer looks at the manifest again so often.
LOOK_SECONDS = 5.0
THREADS = 8
MOST = 64 * 1024 * 1024  # bytes of a shard, a list or a document

NOTHING = Listed(is_public=True, files={})
T = TypeVar("T")

log = structlog.get_logger("larder.follower")


class Changed(Exception):
    """There is another manifest: the next pass begins with it."""


class Outdated(Exception):
    """A file is newer than the manifest: the one after it names the file."""


@dataclass(slots=True)
class Change:
    """`old`: what is in the follower's tree, or may be. `data`: the new list; empty for an address that is gone."""

    address: Address
    data: bytes
    old: Listed
    new: Listed


def start() -> None:
    """Follow in the background where this Larder is a follower. One process of a host at a time does."""
    if settings.FOLLOW.url:
        _thread.start()


def follow() -> None:
    """Make a pass, unless another process makes one. What went wrong is in the state and in the log."""
    with _alone() as is_alone:
        if not is_alone:
            return
        state = trusting.read_state()
        try:
            state |= {"error": "", **_Pass(state).run()}
        except Changed:
            state = trusting.read_state() | {"error": ""}
        except (LeaderAway, Refused, OSError) as problem:
            if state.get("error") != str(problem):
                log.warning("follower_failed", error=str(problem))
            state = trusting.read_state() | {"error": str(problem)}
        _keep(state | {"looked_at": timezone.now().isoformat()})


class _Pass:
    def __init__(self, state: Mapping[str, Any]) -> None:
        self.state, self.root = state, trusting.root()
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
        _keep({**self.state, **found})  # before anything is taken: no older one comes in after a crash
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
        for shard in changed:
            _put(self.root / layout.shard_path(shard), wanted[shard].encode())
        _put(self.root / layout.MANIFEST, self.raw)
        return complete

    def _safely(self, work: Callable[..., T], *arguments: Any) -> T | None:
        """Do a part of the work; what goes wrong with it does not stop the others. Raises Changed."""
        try:
            return work(*arguments)
        except Outdated:
            self.missing += 1
        except (LeaderAway, Refused, OSError) as problem:
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
        for place in sorted(gone, key=layout.rank_of, reverse=True):
            path, (digest, _) = self._path(place, old), old.files[place]
            if digest and new.files.get(place) == old.files[place]:
                _make_folder(self._incoming(change, digest))
                if path.exists():
                    path.replace(self._incoming(change, digest))
            path.unlink(missing_ok=True)
        change.old = Listed(new.is_public, kept)
        self._note(change, Listed(new.is_public, noted | unsure))

    def _complete(self, change: Change) -> None:
        new, old = change.new, change.old.files
        missing = [place for place in new.files if layout.rank_of(place) <= Rank.SIGNATURE]
        missing = [place for place in missing if not self._has(place, new, old.get(place))]
        if missing:
            self._write_documents(change, {version_at(place) for place in missing})
        for place in sorted(missing, key=lambda place: (layout.rank_of(place), new.files[place][1])):
            self._fetch(change, place)
        self._write_documents(change, ())
        path = self.root / change.address.list_path
        _put(path, change.data) if change.data else path.unlink(missing_ok=True)

    def _has(self, place: str, new: Listed, old: tuple[str, int] | None) -> bool:
        path, (digest, size) = self._path(place, new), new.files[place]
        if path.exists() and old is None:  # from a pass that died
            return _sha256(path) == digest
        return old == new.files[place] and path.exists() and path.stat().st_size == size

    def _write_documents(self, change: Change, without: Collection[str]) -> None:
        """Write downloads, then lists, as if there were not some of the versions."""
        new = change.new
        documents = [place for place in new.files if layout.rank_of(place) > Rank.SIGNATURE]
        for place in sorted(documents, key=layout.rank_of):
            is_list = layout.rank_of(place) == Rank.LIST
            if not is_list and version_at(place) in without:
                continue
            if not is_list and change.old.files.get(place) == new.files[place] and self._path(place, new).exists():
                continue
            self._look()
            path = layout.path_of(place, is_public=new.is_public)
            data = _of(new.files[place][0], path)
            _put(self.root / path, trimmed(place, data, without) if is_list and without else data)

    def _fetch(self, change: Change, place: str) -> None:
        """Fetch a blob, or the rest of one, and put it into its place. Raises LeaderAway, Refused or Changed."""
        path, (digest, size) = layout.path_of(place, is_public=change.new.is_public), change.new.files[place]
        part, target = self._incoming(change, digest), self.root / path
        _make_folder(part)
        begun = part.stat().st_size if part.exists() else 0
        if begun < size or not part.exists():
            headers = {"Range": f"bytes={begun}-"} if begun else {}
            with leader.opened(path, headers=headers) as answer, part.open("ab") as file:
                if not answer.headers.get("Content-Range"):
                    file.truncate(0)
                for chunk in answer.chunks(size):
                    file.write(chunk)
                    self._look()
                file.flush()
                os.fsync(file.fileno())
        if (found := _sha256(part)) != digest:
            part.unlink()
            raise Refused(f"{path} has the digest {found}, expected {digest} as its list says. It is fetched again.")
        _make_folder(target)
        part.replace(target)

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
        return self.root / "incoming" / f"{change.address.digest[:16]}-{digest}"

    def _note(self, change: Change, listed: Listed) -> None:
        side = layout.side(is_public=listed.is_public)
        # No list of the leader has the last field, so the address does not count as done.
        document = {"address": str(change.address), "visibility": side, "files": dict(listed.files), "noted": True}
        _put(self.root / change.address.list_path, json.dumps(document).encode())


def version_at(place: str) -> str:
    """Return the version that a file is of, by its place. Lists are of none."""
    parts = place.split("/")
    number = 4 if parts[1] == layout.Kind.PROVIDER else 5
    suffix = ".zip" if place.startswith("packages/modules/") else ".json" if place.startswith("v1/mirror/") else ""
    return parts[number].removesuffix(suffix)


def trimmed(place: str, data: bytes, without: Collection[str]) -> bytes:
    """Return a list of versions without some of them."""
    document = json.loads(data)
    if place.endswith("/index.json"):
        document["versions"] = {one: more for one, more in document["versions"].items() if one not in without}
    else:
        for owner in document["modules"] if place.startswith("v1/modules/") else [document]:
            owner["versions"] = [one for one in owner["versions"] if one["version"] not in without]
    return json.dumps(document).encode()


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


def _put(path: Path, data: bytes) -> None:
    """Write a file that readers see whole, or not at all."""
    _make_folder(path)
    beside = path.with_name(f".{path.name}.{threading.get_ident()}")
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _make_folder(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)


def _keep(state: Mapping[str, Any]) -> None:
    _put(trusting.root() / "state.json", json.dumps(state).encode())


@contextmanager
def _alone() -> Iterator[bool]:
    lock = trusting.root() / "lock"
    _make_folder(lock)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


_thread = Periodic("follower", follow, every=EVERY, rest=lambda: None)
