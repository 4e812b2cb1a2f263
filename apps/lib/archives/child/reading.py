"""An archive of any form, read by the rules: what the child does, also callable where it is."""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from apps.lib.archives.rules.clock import Clock
from apps.lib.archives.rules.collector import Finds, Member
from apps.lib.archives.rules.forms import Form
from apps.lib.archives.rules.limits import Limits
from apps.lib.archives.rules.outcome import Listing, Refusal, refuse
from apps.lib.archives.tars.reader import tar_members
from apps.lib.archives.zips.reader import zip_members
from apps.lib.digests import Tally

_STEP = 64 * 1024


def read(
    file: BinaryIO, limits: Limits, wanted: Iterable[str] = (), *, form: Form = "zip", links: bool = False
) -> Listing:
    """Checks a seekable archive and returns what it holds, in the order in which the members' data lie.

    `wanted` as for `Finds`; `links`: list them as well, instead of refusing them. Raises Refusal for anything that is
    the archive's fault, and OSError where the file cannot be read, which is not; also MemoryError.
    """
    with one_verdict(form):
        clock = Clock(limits.seconds, time.process_time)
        finds = Finds(wanted, limits)
        entries = []
        for entry, pieces in members(file, limits, clock, form, links=links):
            finds.take(entry, pieces)
            entries.append(entry)
        digest, size = _digest(file, clock)
        return Listing(digest, size, tuple(entries), finds.texts, os.getpid(), form, tuple(finds.private_keys))


def members(
    file: BinaryIO, limits: Limits, clock: Clock, form: Form, *, by_name: bool = False, links: bool = False
) -> Iterator[Member]:
    """The members; `by_name` in that order, where the form allows it: a tar has no other order than its own."""
    size = file.seek(0, os.SEEK_END)
    limits.check_packed(size)
    if form == "zip":
        return zip_members(file, limits, clock, by_name=by_name, links=links)
    return tar_members(file, form, limits, clock, links=links)


@contextmanager
def one_verdict(form: Form) -> Iterator[None]:
    """Turns whatever a crafted archive makes our parsers raise into a refusal: it is no error page."""
    try:
        yield
    except (Refusal, OSError, MemoryError):
        raise  # only who set the limit knows whose fault a MemoryError is; the child's parent does
    except Exception as error:
        # Callers log this code as a defect.
        found = f"data that cannot be read ({type(error).__name__})"
        raise refuse("unreadable", found, f"a {form} archive") from error


def _digest(file: BinaryIO, clock: Clock) -> tuple[str, int]:
    """Hashed here as well, so that whoever stores the file can prove that it is the one which was checked."""
    tally = Tally()
    file.seek(0)
    while chunk := file.read(_STEP):
        clock.check()
        tally.update(chunk)
    return tally.hexdigest, tally.size
