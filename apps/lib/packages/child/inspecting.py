"""The sandboxed program that checks a provider package: one pass over its bytes, in memory that does not grow."""

import hashlib
import io
import os
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from apps.lib.archives.child.inspecting import members, one_verdict
from apps.lib.archives.rules.collector import Member
from apps.lib.archives.rules.limits import Clock, Limits
from apps.lib.archives.rules.outcome import Entry, Refusal
from apps.lib.formats import registry_manifest
from apps.lib.packages.child.following import FollowedReader
from apps.lib.packages.executables import is_program_name, only_program, wrong_head
from apps.lib.packages.heads import HEAD_BYTES
from apps.lib.packages.outcome import PackageListing

_BUFFER = 64 * 1024


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    limits = Limits(**request["limits"])
    try:
        with one_verdict("zip"):
            raw = FollowedReader(stdin)
            clock = Clock(limits.seconds, time.process_time)
            archive = members(io.BufferedReader(raw, _BUFFER), limits, clock, "zip")
            return _listing(raw, archive, request).as_fields()
    except Refusal as refusal:
        return refusal.as_fields()


def _listing(raw: FollowedReader, archive: Iterator[Member], request: dict[str, Any]) -> PackageListing:
    provider_type = request["provider_type"]
    digests: dict[str, str] = {}
    entries: dict[str, Entry] = {}
    heads: dict[str, bytes] = {}
    for entry, pieces in archive:
        raw.follow()  # the members' data lie in this order; what was read before is read again
        digest, heads[entry.name] = _digest_and_head(pieces, _head_bytes(entry.name, provider_type))
        entries[entry.name] = entry
        if not entry.is_dir:
            digests[entry.name] = digest
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


def _head_bytes(name: str, provider_type: str) -> int:
    """How many of a member's first bytes are looked at."""
    if name == registry_manifest.FILE_NAME:
        return registry_manifest.MAX_BYTES + 1  # one more, so that what is too long is seen to be
    return HEAD_BYTES if is_program_name(name, provider_type) else 0


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
