"""A thread that ends one exchange when its time is over: the time-outs of a socket begin again with every byte."""

import socket
import time
from threading import Condition, Thread

from apps.lib.net.outgoing import cut_off

_FOREVER = float("inf")
_MAX_WAIT_SECONDS = 3600.0


class Watch:
    """Shuts the socket at the first limit. `rule` then names it, and is empty before. Call `end` before `close`."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._changed = Condition()
        self._ends = self._wakes = _FOREVER
        self._next_rule = self.rule = ""
        self._is_over = False
        Thread(target=self._run, name="outgoing-watch", daemon=True).start()

    def limit(self, *limits: tuple[float, str]) -> None:
        """Replace the limits, each a time.monotonic() and its rule. The earliest counts."""
        with self._changed:
            self._ends, self._next_rule = min(limits)
            if self._ends < self._wakes:  # a later end is seen when the thread wakes: no switch for every chunk
                self._changed.notify()

    def follow(self, sock: socket.socket) -> None:
        """The socket was wrapped, which detached the former object."""
        with self._changed:
            self._sock = sock
            if self.rule:
                cut_off(sock)

    def end(self) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while not self._is_over:
                left = self._ends - time.monotonic()
                if left <= 0:
                    self.rule = self._next_rule
                    cut_off(self._sock)
                    return
                self._wakes = self._ends
                self._changed.wait(min(left, _MAX_WAIT_SECONDS))
