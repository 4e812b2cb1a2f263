"""Keep the child processes of `manage.py up` alive, and end them all in time."""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from registry_site import env

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 10.0  # lease, ring and this pause together: a release ends within 90 s, whatever was killed
STEADY_AFTER = 5.0  # a child that lived this long started properly: its next pause is short again
TICK = 0.05

log = logging.getLogger("larder.supervisor")


@dataclass
class Child:
    """A `manage.py` command that must always run."""

    name: str
    arguments: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    pause: float = FIRST_PAUSE
    due_at: float = 0.0

    def start(self) -> None:
        command = [sys.executable, str(env.CHECKOUT / "manage.py"), self.name, *self.arguments]
        # Its own session: Ctrl-C reaches only the supervisor, which ends its children in order.
        self.process = subprocess.Popen(  # noqa: S603  # our own interpreter and code
            [*command, "--parent", str(os.getpid())], stdin=subprocess.DEVNULL, start_new_session=True
        )
        self.started_at = time.monotonic()

    def tend(self, now: float) -> None:
        """Start it, or restart it when its pause is over."""
        if self.process is None:
            if now >= self.due_at:
                self.start()
            return
        status = self.process.poll()
        if status is None:
            return
        self.end_group(signal.SIGKILL)
        self.process = None
        if now - self.started_at > STEADY_AFTER:
            self.pause = FIRST_PAUSE
        log.error("child_ended", extra={"child": self.name, "status": status, "starts_again_in": self.pause})
        self.due_at = now + self.pause
        self.pause = min(self.pause * 2, LONGEST_PAUSE)

    def end_group(self, with_signal: signal.Signals) -> None:
        """Signal the child and everything it started, by its process group."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, with_signal)


class Supervisor:
    """Runs children until a signal asks it to stop. Use it in the main thread: see die_with_parent."""

    def __init__(self, children: list[Child], *, stop_seconds: float) -> None:
        self.children = children
        self.stop_seconds = stop_seconds
        self.stopping = threading.Event()
        for wanted in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(wanted, lambda *_: self.stopping.set())

    def wait(self, until: Callable[[], bool], *, seconds: float = float("inf")) -> bool:
        """Tend the children until `until()` holds (True), the time is over or a stop is asked for (False)."""
        deadline = time.monotonic() + seconds
        pause = TICK
        while not self.stopping.is_set():
            now = time.monotonic()
            for child in self.children:
                child.tend(now)
            if until():
                return True
            if now > deadline:
                return False
            self.stopping.wait(pause)
            pause = min(pause * 1.2, 0.5)
        return False

    def run(self) -> None:
        self.wait(lambda: False)

    def stop(self) -> None:
        """Terminate every child, and kill what is left after `stop_seconds`."""
        running = [child.process for child in self.children if child.process is not None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + self.stop_seconds
        for process in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
        for child in self.children:
            # Also after a clean end: a group may outlive its leader.
            child.end_group(signal.SIGKILL)
        for process in running:
            process.wait()
