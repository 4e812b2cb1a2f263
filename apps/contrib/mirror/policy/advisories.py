"""Advisories: OSV files (*.json) that operators place in the folder LARDER_UPSTREAM_ADVISORIES.

OSV has no ecosystem for providers, and no feed of them is published, so the spelling is ours: `package.ecosystem` is
OpenTofu or Terraform, `package.name` is `hashicorp/random` (on every host) or `registry.opentofu.org/hashicorp/random`
(there alone). Versions are named by `versions`, or by `ranges` of type SEMVER with introduced, fixed, last_affected and
limit: https://ossf.github.io/osv-schema/

A file that cannot be read is a problem for the doctor, and its last content continues to count in this process.
"""

import json
import os
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings

from apps.lib import versions
from apps.lib.errors import Invalid

MAX_FILES = 10_000
MAX_FILE_BYTES = 1024 * 1024
MAX_TOTAL_BYTES = 64 * 1024 * 1024
LOOK_AGAIN_SECONDS = 2.0
ECOSYSTEMS = ("opentofu", "terraform")
_EVENTS = ("introduced", "fixed", "last_affected", "limit")
# At one version, what ends a range comes after what begins it, and last_affected still counts.
_ORDER = {"introduced": 0, "last_affected": 1, "fixed": 1}


class Broken(Exception):
    """A file says something other than it must; the text says what was found, and what was expected."""


@dataclass(frozen=True, slots=True)
class Range:
    """Events in order, each with the key of its version."""

    events: tuple[tuple[bytes, str], ...]
    limits: tuple[bytes, ...]

    def names(self, key: bytes) -> bool:
        if self.limits and not any(key < limit for limit in self.limits):
            return False
        is_affected = False
        for bound, event in self.events:
            if event == "introduced" and key >= bound:
                is_affected = True
            elif (event == "fixed" and key >= bound) or (event == "last_affected" and key > bound):
                is_affected = False
        return is_affected


@dataclass(frozen=True, slots=True)
class Advisory:
    """The part of a file about one provider; `host` is empty for every host."""

    id: str
    summary: str
    file: str
    host: str
    address: str
    keys: frozenset[bytes]
    ranges: tuple[Range, ...]

    def names(self, key: bytes) -> bool:
        """Return whether it names the version with this sort key."""
        return key in self.keys or any(one.names(key) for one in self.ranges)


@dataclass(frozen=True, slots=True)
class Problem:
    file: str
    message: str


@dataclass(frozen=True, slots=True)
class Index:
    """All advisories of the folder, by (host, `namespace/type`)."""

    by_name: dict[tuple[str, str], tuple[Advisory, ...]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    files: int = 0

    def of(self, host: str, address: str) -> tuple[Advisory, ...]:
        return self.by_name.get(("", address), ()) + self.by_name.get((host, address), ())


_Mark = tuple[int, int, int]
_NEVER: _Mark = (0, 0, 0)  # no file has it
_Good = tuple[_Mark, tuple[Advisory, ...]]
_Signature = tuple[tuple[str, int, int, int], ...]


class Folder:
    """The folder as this process last read it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._path = ""
        self._looked = 0.0
        self._signature: _Signature | None = None
        self._index = Index()
        self._good: dict[str, _Good] = {}

    def forget(self) -> None:
        with self._lock:
            self._path, self._looked, self._signature, self._good = "", 0.0, None, {}
            self._index = Index()

    def index(self) -> Index:
        """Look for changes every two seconds, and read only files that changed."""
        path = settings.UPSTREAM.advisories
        with self._lock:
            if path != self._path:
                self._path, self._looked, self._signature, self._good = path, 0.0, None, {}
                self._index = Index()
            if path and (not self._looked or time.monotonic() - self._looked >= LOOK_AGAIN_SECONDS):
                self._read(Path(path))
                self._looked = time.monotonic()
            return self._index

    def _read(self, folder: Path) -> None:
        try:
            signature = _signature_of(folder)
        except OSError as error:
            problem = Problem(str(folder), f"The folder cannot be read: {error.strerror or error}.")
            self._signature = None
            self._index = Index(self._index.by_name, (problem,), self._index.files)
            return
        if signature == self._signature:
            return
        self._signature = signature
        problems = []
        if len(signature) > MAX_FILES:
            problems.append(
                Problem(str(folder), f"Found {len(signature)} files, expected at most {MAX_FILES}; the rest is unread.")
            )
        good: dict[str, _Good] = {}
        total = 0
        for name, *numbers in signature[:MAX_FILES]:
            mark = (numbers[0], numbers[1], numbers[2])
            total += mark[1]
            known = self._good.get(name)
            if known is not None and known[0] == mark:
                good[name] = known
                continue
            try:
                if total > MAX_TOTAL_BYTES:
                    raise Broken(f"the files have more than {MAX_TOTAL_BYTES} bytes together: this one is unread")
                good[name] = (mark, tuple(_advisories_in(_document(folder / name), name)))
            except (Broken, OSError) as error:
                problems.append(Problem(name, f"{error}."))
                if known is not None:
                    good[name] = (_NEVER, known[1])  # read again with the next change
        self._good = good
        self._index = Index(_by_name(good), tuple(problems), len(signature))


def _by_name(good: dict[str, _Good]) -> dict[tuple[str, str], tuple[Advisory, ...]]:
    found: dict[tuple[str, str], tuple[Advisory, ...]] = {}
    for _, several in good.values():
        for one in several:
            found[one.host, one.address] = (*found.get((one.host, one.address), ()), one)
    return found


folder = Folder()


def index() -> Index:
    return folder.index()


def problems() -> list[Problem]:
    """Return files that could not be read or understood, for the doctor and the page."""
    return list(folder.index().problems)


def _signature_of(path: Path) -> _Signature:
    """Name, time, size and number of each file. Kubernetes mounts files as symbolic links, so these are followed."""
    found = []
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith(".") or not entry.name.endswith(".json"):
                continue
            try:
                state = entry.stat()
            except OSError:
                found.append((entry.name, -1, 0, 0))  # reading it says why
                continue
            if not stat.S_ISDIR(state.st_mode):
                found.append((entry.name, state.st_mtime_ns, state.st_size, state.st_ino))
    return tuple(sorted(found))


def _document(path: Path) -> dict[str, Any]:
    # O_NONBLOCK: a pipe must not hold up a request.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Broken("is not a regular file")
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise Broken(f"has more than {MAX_FILE_BYTES} bytes, expected one advisory for each file")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Broken(f"is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise Broken(f"found {type(document).__name__}, expected one OSV object")
    return document


def _advisories_in(document: dict[str, Any], file: str) -> Iterator[Advisory]:
    """Raises Broken."""
    number = document.get("id")
    if not isinstance(number, str) or not number.strip():
        raise Broken("has no id")
    if document.get("withdrawn"):
        return
    entries = document.get("affected")
    if not isinstance(entries, list) or not entries:
        raise Broken("has no list `affected`")
    ours = [entry for entry in entries if _is_ours(entry)]
    if not ours:
        raise Broken("names no provider: expected affected[].package.ecosystem OpenTofu or Terraform")
    summary = document.get("summary")
    for entry in ours:
        host, address = _named(entry["package"].get("name"))
        yield Advisory(
            id=number.strip()[:100],
            summary=summary[:300] if isinstance(summary, str) else "",
            file=file,
            host=host,
            address=address,
            keys=_keys_of(entry.get("versions", [])),
            ranges=tuple(_ranges_of(entry)),
        )


def _is_ours(entry: object) -> bool:
    package = entry.get("package") if isinstance(entry, dict) else None
    if not isinstance(package, dict):
        raise Broken("found an entry of `affected` without `package`")
    return str(package.get("ecosystem", "")).lower() in ECOSYSTEMS


def _named(name: object) -> tuple[str, str]:
    parts = name.strip().lower().split("/") if isinstance(name, str) else []
    if len(parts) not in (2, 3) or not all(parts):
        raise Broken(
            f"found package name {name!r:.100}, expected namespace/type or host/namespace/type, such as "
            "hashicorp/random or registry.opentofu.org/hashicorp/random"
        )
    return ("/".join(parts[:-2]), "/".join(parts[-2:]))


def _key(text: object, where: str) -> bytes:
    if where == "introduced" and text == "0":
        return b""  # below every version
    if not isinstance(text, str):
        raise Broken(f"found {where} {text!r:.100}, expected a version as text")
    try:
        return versions.sort_key(text.removeprefix("v"))
    except Invalid as error:
        raise Broken(f"{error} in `{where}`") from None


def _keys_of(listed: object) -> frozenset[bytes]:
    if not isinstance(listed, list):
        raise Broken("found `versions` that is not a list")
    return frozenset(_key(text, "versions") for text in listed)


def _ranges_of(entry: dict[str, Any]) -> Iterator[Range]:
    found = entry.get("ranges", [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise Broken("found `ranges` that is not a list of objects")
    usable = [one for one in found if one.get("type") in ("SEMVER", "ECOSYSTEM")]
    if not usable and not entry.get("versions"):
        raise Broken("names no versions: expected `versions`, or `ranges` of type SEMVER")
    for one in usable:
        events = one.get("events")
        if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
            raise Broken("found a range without a list of `events`")
        bounds = []
        for event in events:
            if len(event) != 1 or next(iter(event)) not in _EVENTS:
                raise Broken(f"found event {event!r:.100}, expected one of {', '.join(_EVENTS)}")
            name, text = next(iter(event.items()))
            if not (name == "limit" and text == "*"):
                bounds.append((_key(text, name), name))
        if not any(name == "introduced" for _, name in bounds):
            raise Broken("found a range without `introduced`")
        limits = tuple(key for key, name in bounds if name == "limit")
        ordered = sorted((b for b in bounds if b[1] != "limit"), key=lambda bound: (bound[0], _ORDER[bound[1]]))
        yield Range(tuple(ordered), limits)
