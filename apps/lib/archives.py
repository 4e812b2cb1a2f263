"""Checks an uploaded archive in a child process that can do nothing but read it (D17).

listing = archives.inspect(file, limits, wanted=["readme.md", "*.tf"])   # or archives.Refusal, with .reasons
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

from apps.lib.zips.exchange import MOST_BYTES, OUT_OF_MEMORY, CheckBroken, read_document
from apps.lib.zips.limits import Limits
from apps.lib.zips.outcome import Entry, Listing, Refusal
from apps.lib.zips.reader import read_zip, too_expensive

__all__ = ["CheckBroken", "Entry", "Limits", "Listing", "Refusal", "inspect", "read_zip"]

_ROOT = Path(__file__).resolve().parents[2]
# -I: no variable and no folder of the caller reaches the child; -S: no site-packages. So the root is put on its path.
_START = "import sys; sys.path.insert(0, sys.argv[1]); from apps.lib.zips.child import main; main(sys.argv[2])"
_STEP = 64 * 1024
_GRACE = 3.0  # seconds beyond the child's own clock, which can say why it stopped
# What a person, a supervisor or the kernel short of memory sends says nothing about the archive.
_FROM_OUTSIDE = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM})


def inspect(file: BinaryIO, limits: Limits, wanted: Collection[str] = ()) -> Listing:
    """Checks a zip in a child process; `file` is a real file, whose position does not matter and is not moved.

    Raises Refusal where the archive is at fault (also for what it costs), CheckBroken where the check is.
    `wanted` as for `read_zip`. Takes some 50 ms and what the archive needs, at most `limits.seconds` and a little.
    """
    if file.writable():
        file.flush()  # the child sees the file, not our buffer
    request = json.dumps({"limits": asdict(limits), "wanted": sorted(wanted), "parent": os.getpid()})
    deadline = time.monotonic() + limits.seconds + _GRACE
    try:
        child = _started(file, request)
    except OSError as error:
        raise CheckBroken(f"the check cannot start: {error}") from error
    with child:
        try:
            document = _output(child, deadline)
            child.wait(max(0.1, deadline - time.monotonic()))
        except (TimeoutError, subprocess.TimeoutExpired):
            raise too_expensive(f"more than {limits.seconds} seconds of checking") from None
        finally:
            child.kill()  # nothing happens where it has ended; `with` reaps it either way
    if child.returncode:
        raise _death(child.returncode)
    return read_document(document)


def _started(file: BinaryIO, request: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _START, str(_ROOT), request],
        stdin=file.fileno(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},  # the worker's environment holds keys
        cwd="/",
        close_fds=True,
        process_group=0,  # Ctrl-C at a terminal ends the worker, which may finish this check first
    )


def _output(child: subprocess.Popen[bytes], deadline: float) -> bytes:
    """All of the child's output. Raises TimeoutError at the deadline, CheckBroken where there is too much of it."""
    assert child.stdout is not None  # noqa: S101 - Popen was given PIPE
    document = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while len(document) <= MOST_BYTES:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            chunk = os.read(child.stdout.fileno(), _STEP)
            if not chunk:
                return bytes(document)
            document += chunk
    raise CheckBroken(f"the check wrote more than {MOST_BYTES} bytes")


def _death(code: int) -> Refusal | CheckBroken:
    """What a child that did not exit with 0 says: killed for its cost, or something that has to be looked into."""
    if code == OUT_OF_MEMORY:
        return too_expensive("more memory than a check may use")
    if code > 0 or -code in _FROM_OUTSIDE:
        return CheckBroken(f"the check ended with {code}")
    name = signal.Signals(-code).name if -code in signal.valid_signals() else str(-code)
    return too_expensive(f"a check that the system stopped ({name})")
