"""What the confined child runs to check a provider package: one pass over its bytes, in memory that does not grow."""

import hashlib
import io
import os
import time
from collections.abc import Iterator
from typing import Any

from apps.lib.archives.child.reading import members, one_verdict
from apps.lib.archives.rules.clock import Clock
from apps.lib.archives.rules.collector import Member
from apps.lib.archives.rules.exchange import refusal_fields
from apps.lib.archives.rules.limits import Limits
from apps.lib.archives.rules.outcome import Entry, Refusal
from apps.lib.formats import registry_manifest
from apps.lib.packages.child.following import FollowedReader
from apps.lib.packages.executables import is_program_name, only_program, wrong_head
from apps.lib.packages.heads import HEAD_BYTES
from apps.lib.packages.outcome import PackageListing
from apps.lib.packages.paths import Tree

_BUFFER = 64 * 1024


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    limits = Limits(**request["limits"])
    try:
        with one_verdict("zip"):
            raw = FollowedReader(stdin)
            clock = Clock(limits.seconds, time.process_time)
            found = members(io.BufferedReader(raw, _BUFFER), limits, clock, "zip")
            return _listing(raw, found, request).as_fields()
    except Refusal as refusal:
        return refusal_fields(refusal)


def _listing(raw: FollowedReader, found: Iterator[Member], request: dict[str, Any]) -> PackageListing:
    provider_type = request["provider_type"]
    tree = Tree()
    entries: dict[str, Entry] = {}
    heads: dict[str, bytes] = {}
    for entry, pieces in found:
        raw.follow()  # the members' data lie in this order; what was read before is read again
        digest, heads[entry.name] = _passed(pieces, _kept(entry.name, provider_type))
        entries[entry.name] = entry
        if not entry.is_dir:
            tree.add(entry.name, digest)
    executable = only_program((entry.name for entry in entries.values() if not entry.is_dir), provider_type)
    reasons = list(wrong_head(heads[executable], executable, request["os"], request["arch"]))
    if reasons:
        raise Refusal(reasons)
    return PackageListing(
        *raw.finish(),
        h1=tree.h1,
        executable=executable,
        is_runnable=bool(entries[executable].mode & 0o111),
        protocols=registry_manifest.parse(heads[registry_manifest.FILE_NAME])
        if registry_manifest.FILE_NAME in entries
        else [],
        entries=tuple(entries.values()),
        pid=os.getpid(),
    )


def _kept(name: str, provider_type: str) -> int:
    """How many of a member's first bytes are looked at."""
    if name == registry_manifest.FILE_NAME:
        return registry_manifest.MAX_BYTES + 1  # one more, so that what is too long is seen to be
    return HEAD_BYTES if is_program_name(name, provider_type) else 0


def _passed(pieces: Iterator[bytes], kept: int) -> tuple[str, bytes]:
    """The digest of all pieces, and the first bytes."""
    digest, head = hashlib.sha256(), bytearray()
    for piece in pieces:
        digest.update(piece)
        if len(head) < kept:
            head += piece[: kept - len(head)]
    return digest.hexdigest(), bytes(head)
