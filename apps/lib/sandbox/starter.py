"""Starts sandboxed children: one fork server for each process that needs any, with its first child.

The server ends when this process does, however that happens: then the kernel closes its socket. One that was killed is
replaced at the next child. After a fork the new process has none, and starts its own.
"""

import atexit
import contextlib
import json
import os
import socket
import subprocess
import sysconfig
import tempfile
import threading
import weakref
from dataclasses import asdict
from typing import Any, BinaryIO

from apps.lib.process import niceness
from apps.lib.sandbox import interpreters
from apps.lib.sandbox.fork_server import LENGTH_BYTES, STATUS_BYTES
from apps.lib.sandbox.powers import Limits

_END_SECONDS = 10.0
_LEAVING_SECONDS = 0.5


class Child:
    """A child as its caller sees it. `stdout` is the descriptor of what it writes."""

    def __init__(self, stdout: int, status: socket.socket) -> None:
        self.stdout = stdout
        self._status = status
        self._code: int | None = None
        _sockets.add(status)

    def wait(self, seconds: float) -> int | None:
        """The exit code, negative for a signal; None if the server ended with the child. Raises TimeoutError."""
        if self._code is None:
            self._status.settimeout(seconds)
            data = self._status.recv(STATUS_BYTES)
            self._code = int.from_bytes(data, "big", signed=True) if data else None
        return self._code

    def end(self) -> None:
        """Kill it, which does nothing if it has ended, and wait until it is gone."""
        os.close(self.stdout)
        with self._status, contextlib.suppress(OSError):
            if self._code is None:
                self._status.shutdown(socket.SHUT_WR)
                self.wait(_END_SECONDS)


class _Server:
    """A running fork server. Threads share it."""

    def __init__(self) -> None:
        self.control, theirs = socket.socketpair()
        _sockets.add(self.control)
        with theirs:
            try:
                self.process = interpreters.started(
                    "apps.lib.sandbox.fork_server",
                    {"control": theirs.fileno()},
                    environment={},
                    folder="/",
                    files=subprocess.DEVNULL,
                    inherited=[theirs.fileno()],
                )
            except BaseException:
                self.control.close()
                raise

    def send(self, orders: bytes, descriptors: list[int]) -> None:
        """Raises OSError if it has ended."""
        data = len(orders).to_bytes(LENGTH_BYTES, "big") + orders
        sent = socket.send_fds(self.control, [data], descriptors)
        self.control.sendall(data[sent:])

    def close(self) -> None:
        """Let it end after its last child."""
        self.control.close()
        retired.append(self.process)
        retired[:] = [process for process in retired if process.poll() is None]


_lock = threading.Lock()
_server: _Server | None = None
retired: list["subprocess.Popen[bytes]"] = []  # servers that end, or have ended
_sockets: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()


def start(
    program: str, request: dict[str, Any], stdin: BinaryIO | None, limits: Limits, *, site_packages: bool
) -> Child:
    """Raises OSError."""
    # As plain folders at the end of the path: no .pth file in them is run.
    packages = list(dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib")))
    orders = {
        "program": program,
        "site_packages": packages if site_packages else [],
        "limits": asdict(limits),
        "niceness": niceness.wanted.get(),
    }
    # Not in the orders, which the server reads; not a pipe, which would have to be fed while the answer is read.
    with tempfile.TemporaryFile() as asked:
        asked.write(json.dumps(request).encode("utf-8"))
        asked.flush()
        ours, theirs = socket.socketpair()
        stdout, written = os.pipe()
        try:
            descriptors = [theirs.fileno(), written, asked.fileno(), *([] if stdin is None else [stdin.fileno()])]
            _send(json.dumps(orders).encode("utf-8"), descriptors)
        except BaseException:
            os.close(stdout)
            ours.close()
            raise
        finally:
            os.close(written)
            theirs.close()
    return Child(stdout, ours)


def _send(orders: bytes, descriptors: list[int]) -> None:
    global _server  # noqa: PLW0603  # one for each process
    with _lock:
        if _server is not None:
            with contextlib.suppress(OSError):
                _server.send(orders, descriptors)
                return
            _server.close()
            _server = None
        _server = _Server()
        _server.send(orders, descriptors)


def retire() -> None:
    """Have the next child forked from a new server, with another layout of its memory. Running children stay."""
    global _server  # noqa: PLW0603  # as above
    with _lock:
        if _server is not None:
            _server.close()
            _server = None


def _leave_to_parent() -> None:
    """In a fork: the server is the parent's, and must see the parent's end."""
    global _lock, _server  # as above
    if _server is not None:
        retired.append(_server.process)
    _lock, _server = threading.Lock(), None
    for one in list(_sockets):
        one.close()


def _leave() -> None:
    """At the end of this process: a server without children ends at once."""
    retire()
    for process in retired:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LEAVING_SECONDS)


os.register_at_fork(after_in_child=_leave_to_parent)
atexit.register(_leave)
