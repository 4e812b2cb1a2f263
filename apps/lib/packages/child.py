"""The sandboxed program that checks a provider package: one pass over its bytes, in memory that does not grow."""

import hashlib
import io
import os
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from apps.lib.archives.child_inspecting import members, one_verdict
from apps.lib.archives.rules.collector import Member
from apps.lib.archives.rules.limits import Clock, Limits
from apps.lib.archives.rules.outcome import Entry, Refusal, shown
from apps.lib.errors import Reason
from apps.lib.formats import registry_manifest
from apps.lib.packages.heads import HEAD_BYTES, NoProgram, read_head
from apps.lib.packages.outcome import PackageListing
from apps.lib.sandbox.positioned import PositionedReader

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_STEP = 64 * 1024
_NAMED = 5


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    limits = Limits(**request["limits"])
    try:
        with one_verdict("zip"):
            raw = _FollowedReader(stdin)
            clock = Clock(limits.seconds, time.process_time)
            archive = members(io.BufferedReader(raw, _STEP), limits, clock, "zip")
            return _listing(raw, archive, request).as_fields()
    except Refusal as refusal:
        return refusal.as_fields()


def _listing(raw: "_FollowedReader", archive: Iterator[Member], request: dict[str, Any]) -> PackageListing:
    provider_type = request["provider_type"]
    digests: dict[str, str] = {}
    entries: dict[str, Entry] = {}
    heads: dict[str, bytes] = {}
    for entry, pieces in archive:
        raw.follow()  # the members' data lie in this order; what was read before is read again
        head_bytes = HEAD_BYTES if is_program_name(entry.name, provider_type) else 0
        if request["is_foreign"]:
            head_bytes = 0
        elif entry.name == registry_manifest.FILE_NAME:
            head_bytes = registry_manifest.MAX_BYTES + 1  # one more, so that what is too long is seen to be
        digest, heads[entry.name] = _digest_and_head(pieces, head_bytes)
        entries[entry.name] = entry
        if not entry.is_dir:
            digests[entry.name] = digest
    if request["is_foreign"]:
        return PackageListing(*raw.finish(), _h1(digests), "", False, [], tuple(entries.values()), os.getpid())  # noqa: FBT003  # no program is looked for
    executable = only_program((entry.name for entry in entries.values() if not entry.is_dir), provider_type)
    reasons = list(wrong_head(heads[executable], executable, request["os"], request["arch"]))
    if reasons:
        raise Refusal(reasons)
    return PackageListing(
        *raw.finish(),
        h1=_h1(digests),
        executable=executable,
        is_runnable=bool(entries[executable].mode & 0o111),
        protocols=registry_manifest.parse(heads[registry_manifest.FILE_NAME])
        if registry_manifest.FILE_NAME in entries
        else [],
        entries=tuple(entries.values()),
        pid=os.getpid(),
    )


def _digest_and_head(pieces: Iterator[bytes], head_bytes: int) -> tuple[str, bytes]:
    digest, head = hashlib.sha256(), bytearray()
    for piece in pieces:
        digest.update(piece)
        if len(head) < head_bytes:
            head += piece[: head_bytes - len(head)]
    return digest.hexdigest(), bytes(head)


def _h1(digests: Mapping[str, str]) -> str:
    """The hash by which lock files know the unpacked package: Go's dirhash, "Hash1", of the digest of each file.

    Folders do not count: clients hash the files that they find on disk.
    """
    whole = hashlib.sha256()
    for name, digest in sorted((name.encode(), digest) for name, digest in digests.items()):
        whole.update(digest.encode() + b"  " + name + b"\n")
    return "h1:" + b64encode(whole.digest()).decode()


class _FollowedReader(PositionedReader):
    """Hashes the whole file while it is read from front to back: from `follow` on, all bytes, read or skipped, once.

    Before that, the directory at the end of a zip can be read without being hashed.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._hash = hashlib.sha256()
        self._hashed = 0
        self._follows = False

    def follow(self) -> None:
        self._follows = True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        at = self._at
        count = super().readinto(buffer)
        if self._follows:
            self._catch_up(at)
            self._hash.update(memoryview(buffer)[self._hashed - at : count])
            self._hashed = max(self._hashed, at + count)
        return count

    def finish(self) -> tuple[str, int]:
        """Reads the rest, and returns the digest and size of the whole file."""
        self._catch_up(self._size)
        return self._hash.hexdigest(), self._hashed

    def _catch_up(self, end: int) -> None:
        while self._hashed < end:
            piece = os.pread(self._descriptor, min(_STEP, end - self._hashed), self._hashed)
            if not piece:
                raise OSError(f"the file ended at byte {self._hashed} of {end} while it was read")
            self._hash.update(piece)
            self._hashed += len(piece)


def is_program_name(name: str, provider_type: str) -> bool:
    """Return whether clients would start a file of that name: they check no more than this."""
    rest = name.removeprefix(f"terraform-provider-{provider_type}")
    return rest != name and (not rest or rest[0] in "_.") and "/" not in rest


def only_program(names: Iterable[str], provider_type: str) -> str:
    """The program among the names of all files. Raises Refusal unless there is exactly one."""
    names = list(names)
    found = sorted(name for name in names if is_program_name(name, provider_type))
    if len(found) == 1:
        return found[0]
    if found:
        named = ", ".join(map(shown, found[:_NAMED]))
        hint = "Include only the program: clients start the first file that matches by name, even the wrong one."
        listed = f"{len(found)} files named like the program ({named})"
        raise Refusal([Reason("package_two_executables", listed, "one", hint)])
    deeper = [name for name in names if is_program_name(name.rpartition("/")[2], provider_type)]
    if deeper:
        folder, _, file = deeper[0].rpartition("/")
        hint = f"Pack it from inside its folder: cd {shown(folder)} && zip ../package.zip {shown(file)}."
        where = shown(deeper[0])
        raise Refusal(
            [Reason("package_in_folder", "the program in a folder", "it at the root of the zip", hint, where)]
        )
    top = sorted(name for name in names if "/" not in name) or sorted(names)
    top.sort(key=lambda name: not name.lower().startswith("terraform-provider-"))  # near misses first
    listed = ", ".join(map(shown, top[:_NAMED])) + (" and more" if len(top) > _NAMED else "")
    there = f"no program (only {listed})" if listed else "an empty zip"
    expected = f"one file named terraform-provider-{provider_type}, or that followed by _v1.2.0"
    hint = "Pack the program that go build created, under the provider type's name."
    raise Refusal([Reason("package_no_executable", there, expected, hint)])


def wrong_head(head: bytes, name: str, os: str, arch: str) -> Iterator[Reason]:
    """The reason why a file with this head is no program for the platform, if there is one."""
    expected = f"a program for {os}_{arch}, as the zip's name says"
    build = f"Build it with GOOS={os} GOARCH={arch}"
    try:
        program = read_head(head)
    except NoProgram as other:
        yield Reason("package_not_a_program", shown(str(other)), expected, f"{build}.", shown(name))
        return
    if not program.runs_on(os, arch):
        hint = f"{build}, or rename the zip to match it."
        yield Reason("package_wrong_platform", program.words, expected, hint, shown(name))
