"""The sandboxed program that checks an archive of any form. `read` does the same without a sandbox."""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from apps.lib.archives.rules.collector import Collector, Member
from apps.lib.archives.rules.limits import Clock, Limits
from apps.lib.archives.rules.magic import Form
from apps.lib.archives.rules.outcome import Listing, Refusal, refuse
from apps.lib.archives.tar_reader import tar_members
from apps.lib.archives.zip_reader import zip_members
from apps.lib.digests import Tally
from apps.lib.sandbox.positioned import open_positioned

_STEP = 64 * 1024


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    """The answer has the fields of a listing, or of a refusal."""
    limits = Limits(**request["limits"])
    try:
        file = open_positioned(stdin)
        return read(file, limits, request["wanted"], form=request["form"], links=request["links"]).as_fields()
    except Refusal as refusal:
        return refusal.as_fields()


def read(
    file: BinaryIO, limits: Limits, wanted: Iterable[str] = (), *, form: Form = "zip", links: bool = False
) -> Listing:
    """Checks a seekable archive and lists its members in the order in which their data lie.

    `wanted` as for `Collector`. `links`: list them instead of refusing them. Raises Refusal for anything that is the
    archive's fault; OSError if the file cannot be read, which is not; MemoryError.
    """
    with one_verdict(form):
        clock = Clock(limits.seconds, time.process_time)
        collector = Collector(wanted, limits)
        entries = []
        for entry, pieces in members(file, limits, clock, form, links=links):
            collector.add(entry, pieces)
            entries.append(entry)
        # The digest proves that the file which is stored is the one that was checked.
        tally = Tally()
        file.seek(0)
        while chunk := file.read(_STEP):
            clock.check()
            tally.update(chunk)
        digest, size = tally.hexdigest, tally.size
        keys = tuple(collector.private_keys)
        return Listing(digest, size, tuple(entries), collector.texts, os.getpid(), form, keys)


def members(
    file: BinaryIO, limits: Limits, clock: Clock, form: Form, *, by_name: bool = False, links: bool = False
) -> Iterator[Member]:
    """The members; `by_name` in that order, except for a tar, which is read in its own."""
    size = file.seek(0, os.SEEK_END)
    limits.check_packed(size)
    if form == "zip":
        return zip_members(file, limits, clock, by_name=by_name, links=links)
    return tar_members(file, form, limits, clock, links=links)


@contextmanager
def one_verdict(form: Form) -> Iterator[None]:
    """Turns any exception that a crafted archive causes into a refusal."""
    try:
        yield
    except (Refusal, OSError, MemoryError):
        raise  # the parent, who set the limit, knows whose fault a MemoryError is
    except Exception as error:
        # Callers log this code as a defect.
        found = f"data that cannot be read ({type(error).__name__})"
        raise refuse("unreadable", found, f"a {form} archive") from error
