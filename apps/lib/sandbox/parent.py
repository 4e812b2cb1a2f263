"""Run a program of this project in a child process that can only read its input and answer (D17).

Children are forks of a server that has imported the program (`starter`, `fork_server`).

    document = parent.run(program="apps.modules.inspection.child", request={"files": {…}}, site_packages=True)

The program is a module, named by its path:

    def prepare() -> None: ...          # optional: import here what is imported late, or lies in site-packages
    def main(request: dict[str, Any], stdin: int) -> dict[str, Any]: ...

The module is imported and `prepare` called in the server, before the first child is forked: neither may start a
thread. In `main` nothing can be opened, imported, written or started. `request` and the document are JSON; both may be
megabytes. `stdin` is the descriptor of the file that was handed over, to be read with
`sandbox.positioned.open_positioned`. Output beside the document goes through `sandbox.frames.emit`, piece by piece, and
comes out of `stream`.

An exception that leaves `main` becomes CheckBroken: faults of the input belong into the document.
"""

import json
import os
import selectors
import signal
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, BinaryIO

from apps.lib.sandbox import starter
from apps.lib.sandbox.frames import DOCUMENT, HEADER_BYTES, MAX_OUTPUT_BYTES, OUT_OF_MEMORY, OUTPUT
from apps.lib.sandbox.powers import Limits
from apps.lib.sandbox.starter import Child

__all__ = ["CheckBroken", "Limits", "Patience", "TooExpensive", "run", "stream"]

_STEP = 64 * 1024
_GRACE = 3.0  # seconds beyond the child's own clock, which can say why it stopped
# That clock counts processor time, which passes more slowly than the wall's on a busy machine.
_BUSY = 3
# Sent by a person, a supervisor or the kernel short of memory, these say nothing about the input.
_FROM_OUTSIDE = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM})


class CheckBroken(Exception):
    """The check itself failed. This says nothing about the input: try again later."""


class TooExpensive(Exception):
    """The child had to be stopped for its costs; `str()` names them."""


class Patience:
    """The seconds of waiting for a child that are left. What the caller does meanwhile does not count."""

    def __init__(self, seconds: float) -> None:
        self.seconds = self.left = seconds

    def select(self, selector: selectors.BaseSelector) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what there is to read, as soon as there is something. Raises `failure`."""
        began = time.monotonic()
        ready = selector.select(max(0.0, self.left))
        self.left -= time.monotonic() - began
        if not ready or self.left <= 0:
            raise self.failure()
        return ready

    def failure(self) -> Exception:
        return TimeoutError()


def run(
    *,
    program: str,
    request: dict[str, Any],
    stdin: BinaryIO | None = None,
    limits: Limits | None = None,
    site_packages: bool = False,
    output: Callable[[bytes], None] | None = None,
) -> dict[str, Any]:
    """Runs the program and returns its document. Raises CheckBroken, or TooExpensive if the input is at fault.

    `stdin` is a real file, whose position does not matter and is not moved. `site_packages` puts those of this
    interpreter on the path while the program is imported. Takes some 5 ms and what the program needs; a process's first
    check starts the server, in some 100 ms.
    """
    pieces = stream(program=program, request=request, stdin=stdin, limits=limits, site_packages=site_packages)
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            document: dict[str, Any] = end.value
            return document
        if output is None:
            pieces.close()
            raise CheckBroken(f"{program} wrote output without a reader")
        output(piece)


def stream(
    *,
    program: str,
    request: dict[str, Any],
    stdin: BinaryIO | None = None,
    limits: Limits | None = None,
    site_packages: bool = False,
) -> Generator[bytes, None, dict[str, Any]]:
    """Run the program like `run`, but yield the output as it arrives and return the document. Closing the generator
    kills the child.

    Only time spent waiting for the child counts: who takes the output may be as slow as it likes.
    """
    limits = limits or Limits()
    if stdin is not None and stdin.writable():
        stdin.flush()  # the child sees the file, not our buffer
    patience = Patience(limits.seconds * _BUSY + _GRACE)
    try:
        child = starter.start(program, request, stdin, limits, site_packages=site_packages)
    except OSError as error:
        raise CheckBroken(f"the check cannot start: {error}") from error
    try:
        document = yield from _output(child, patience, limits)
        code = child.wait(max(0.1, patience.left))
    except TimeoutError:
        raise TooExpensive(f"more than {limits.seconds} seconds of checking") from None
    finally:
        child.end()
    if code is None:
        raise CheckBroken("the process that starts checks was stopped")
    if code:
        raise _death(code)
    return _read(document)


def _output(child: Child, patience: Patience, limits: Limits) -> Generator[bytes, None, bytes]:
    """Yields the output frames and returns the document; empty where the child ended without one."""
    document = b""
    for kind, payload in _frames(child, patience, limits):
        if document:
            raise CheckBroken("the check continued after its answer")
        if kind == DOCUMENT:
            document = payload
        else:
            yield payload
    return document


def _frames(child: Child, patience: Patience, limits: Limits) -> Iterator[tuple[bytes, bytes]]:
    most = {OUTPUT: MAX_OUTPUT_BYTES, DOCUMENT: limits.document_bytes}
    pending = bytearray()
    for chunk in _chunks(child, patience):
        pending += chunk
        while len(pending) >= HEADER_BYTES:
            kind, length = bytes(pending[:1]), int.from_bytes(pending[1:HEADER_BYTES], "big")
            if length > most.get(kind, -1):
                raise CheckBroken(f"the check wrote {bytes(pending[:40])!r}, or an answer that is too long")
            end = HEADER_BYTES + length
            if len(pending) < end:
                break
            yield kind, bytes(pending[HEADER_BYTES:end])
            del pending[:end]
    # A child that was stopped may leave half a frame; its exit code says more than that.


def _chunks(child: Child, patience: Patience) -> Iterator[bytes]:
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            patience.select(selector)
            chunk = os.read(child.stdout, _STEP)
            if not chunk:
                return
            yield chunk


def _read(document: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(document)
        if "broken" in fields:
            raise CheckBroken(fields["broken"])
        answer: dict[str, Any] = fields["document"]
    except (ValueError, KeyError, TypeError) as error:
        raise CheckBroken(f"the check answered {document[:80]!r}") from error
    return answer


def _death(code: int) -> TooExpensive | CheckBroken:
    """The error for a child that did not exit with 0."""
    if code == OUT_OF_MEMORY:
        return TooExpensive("a check that used too much memory")
    if code > 0 or -code in _FROM_OUTSIDE:
        return CheckBroken(f"the check ended with {code}")
    starter.retire()  # its forks share one layout of memory, which a crash may have told something of
    name = signal.Signals(-code).name if -code in signal.valid_signals() else str(-code)
    return TooExpensive(f"a check that the system stopped ({name})")
