"""The sandboxed program that repacks an archive as a zip. Equal members give equal bytes."""

import time
from collections.abc import Iterator
from typing import Any

from apps.lib.archives.child.inspecting import members, one_verdict
from apps.lib.archives.rules.collector import Member
from apps.lib.archives.rules.limits import Clock, Limits
from apps.lib.archives.rules.outcome import Refusal, refuse
from apps.lib.archives.zips.writer import ZipWriter
from apps.lib.sandbox.frames import emit
from apps.lib.sandbox.positioned import open_positioned


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    limits = Limits(**request["limits"])
    writer = ZipWriter(emit)
    try:
        with one_verdict(request["form"]):
            # Time of this process only: the parent may read the output as slowly as it likes.
            clock = Clock(limits.repack_seconds, time.process_time)
            file = open_positioned(stdin)
            _repack(members(file, limits, clock, request["form"], by_name=True, links=True), request, writer)
    except Refusal as refusal:
        return refusal.as_fields()
    return {"files": writer.files}


def _repack(archive: Iterator[Member], request: dict[str, Any], writer: ZipWriter) -> None:
    prefix = f"{request['folder']}/" if request["folder"] else ""
    leave_out = set(request["leave_out"])
    copies = request["copies"]
    for entry, pieces in archive:
        # Folders get no records: clients make those that files need. Links become copies of their targets.
        if entry.is_dir or entry.link:
            continue
        names = copies.get(entry.name, [])
        if entry.name.startswith(prefix) and entry.name not in leave_out:
            names = [entry.name, *names]
        if names:
            writer.add([name[len(prefix) :] for name in names], pieces, executable=bool(entry.mode & 0o111))
    if prefix and not writer.files:
        raise refuse("folder_missing", "no file below it", "a folder of the archive", "Choose another.", prefix)
    writer.finish()
