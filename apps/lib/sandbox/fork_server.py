"""The process whose forks are the sandboxed children: it has imported their programs, and holds nothing else.

Started by `apps.lib.sandbox.starter` as `python -I -S -c … <orders>`, without an environment, with one socket. It reads
orders from that socket, and never the request or the input of a check: only the children, confined, do. It has one
thread, so a fork is safe at any time. Each order comes with descriptors: where the status goes, the child's standard
output, its request, and its input if it has one.
"""

import contextlib
import gc
import json
import os
import resource
import selectors
import signal
import socket
from typing import Any

from apps.lib.sandbox import child
from apps.lib.sandbox.powers import drop_privileges

LENGTH_BYTES = STATUS_BYTES = 4
MAX_DESCRIPTORS = 4
_STEP = 64 * 1024
_REQUEST = 3  # the child's descriptor of it, the first after the standard ones


class ForkServer:
    """Runs until the socket of its starter is closed and all children have ended."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._selector = selectors.DefaultSelector()
        self._statuses: dict[int, socket.socket] = {}  # by the process id of the child
        self._is_asked = True

    def run(self) -> None:
        signals, wake = os.pipe()
        for end in (signals, wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._selector.register(signals, selectors.EVENT_READ)
        self._selector.register(self._control, selectors.EVENT_READ)
        while self._is_asked or self._statuses:
            for key, _ in self._selector.select():
                if key.fileobj is self._control:
                    self._take_order()
                elif key.fileobj == signals:
                    os.read(signals, _STEP)
                elif key.data in self._statuses:
                    # Nobody waits for the child any more: its caller stopped it, or was killed.
                    self._selector.unregister(key.fileobj)
                    os.kill(key.data, signal.SIGKILL)
            # Reap the children that ended, and tell their callers how.
            while self._statuses:
                process, ended = os.waitpid(-1, os.WNOHANG)
                if not process:
                    break
                with self._statuses.pop(process) as status:
                    with contextlib.suppress(KeyError):
                        self._selector.unregister(status.fileno())
                    with contextlib.suppress(OSError):
                        status.send(os.waitstatus_to_exitcode(ended).to_bytes(STATUS_BYTES, "big", signed=True))

    def _take_order(self) -> None:
        data, descriptors, _, _ = socket.recv_fds(self._control, LENGTH_BYTES, MAX_DESCRIPTORS)
        length = int.from_bytes(data, "big")
        body = bytearray()
        while data and len(body) < length and (chunk := self._control.recv(length - len(body))):
            body += chunk
        if len(data) < LENGTH_BYTES or len(body) < length:
            self._selector.unregister(self._control)
            self._is_asked = False
        elif len(descriptors) < MAX_DESCRIPTORS - 1:
            pass  # no room for them: the caller reads the end of its status
        else:
            self._start(json.loads(body), descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)

    def _start(self, orders: dict[str, Any], descriptors: list[int]) -> None:
        with contextlib.suppress(Exception):  # it fails in the child as well, which says so
            # Import the program, and load what it reads from files, for all its later children.
            if orders["program"] not in child.PROGRAMS:
                child.prepare(orders["program"], orders["site_packages"])
                # Collections in the children then leave these pages alone, and so shared.
                gc.collect()
                gc.freeze()
        orders["parent"] = os.getpid()
        status, *others = descriptors
        try:
            process = os.fork()
            if not process:
                _become_child(orders, others)
        except OSError:
            os.close(status)
        else:
            self._statuses[process] = socket.socket(fileno=status)
            self._selector.register(status, selectors.EVENT_READ, process)
        for descriptor in others:
            os.close(descriptor)


def _become_child(orders: dict[str, Any], descriptors: list[int]) -> None:
    """Runs the child in the new process, which never returns from here."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.nice(orders["niceness"])
        stdout, request, *stdin = descriptors
        for number, descriptor in enumerate([*stdin, stdout] if stdin else [stdout], 0 if stdin else 1):
            os.dup2(descriptor, number)
        # Last: it may overwrite one of the others, which have their places by now.
        os.dup2(request, _REQUEST)
        os.closerange(_REQUEST + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        child.main(orders, _REQUEST)
    finally:
        os._exit(1)


def main(orders: dict[str, Any]) -> None:
    drop_privileges()
    with socket.socket(fileno=orders["control"]) as control:
        ForkServer(control).run()
