"""Keep the child processes of `manage.py up` alive, and end them all in time.

On Linux they are forks of the supervisor, which has loaded the application once: they start in milliseconds and share
its memory. Elsewhere forks are not safe, and each child loads for itself.
"""

import contextlib
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from registry_site.backends.database import give_up_connections
from registry_site.startup import command_line

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 10.0  # lease, ring and this pause together: a release ends within 90 s, whatever was killed
STEADY_AFTER = 5.0  # a child that lived this long started properly: its next pause is short again
TICK = 0.05
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

FORKS = sys.platform == "linux"
context = multiprocessing.get_context("fork") if FORKS else multiprocessing.get_context("spawn")
log = logging.getLogger("larder.supervisor")


@dataclass
class Child:
    """A `manage.py` command that must always run."""

    name: str
    arguments: tuple[str, ...] = ()
    process: BaseProcess | None = None
    started_at: float = 0.0
    pause: float = FIRST_PAUSE
    due_at: float = 0.0

    def start(self) -> None:
        give_up_connections()
        command = ["manage.py", self.name, *self.arguments, "--parent", str(os.getpid())]
        self.process = context.Process(target=_run, args=(command,), name=f"larder-{self.name}")
        # A signal that meets the new process before `_run` must not meet the supervisor's handlers.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        self.started_at = time.monotonic()

    def tend(self, now: float) -> None:
        """Start it, or restart it when its pause is over."""
        if self.process is None:
            if now >= self.due_at:
                self.start()
            return
        status = self.process.exitcode
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
        if self.process is not None and self.process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, with_signal)


def _run(command: list[str]) -> None:
    """Run a command in a new process, which `ps -o comm` shows under its own name."""
    # Its own session: Ctrl-C reaches only the supervisor, which ends its children in order.
    os.setsid()
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(multiprocessing.current_process().name)
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    sys.argv = command
    command_line.run(command)


class Supervisor:
    """Runs children until a signal asks it to stop. Use it in the main thread: see die_with_parent."""

    def __init__(self, children: list[Child], *, stop_seconds: float) -> None:
        self.children = children
        self.stop_seconds = stop_seconds
        self.stopping = threading.Event()
        for wanted in STOP_SIGNALS:
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
            process.join(max(0.0, deadline - time.monotonic()))
        for child in self.children:
            # Also after a clean end: a group may outlive its leader.
            child.end_group(signal.SIGKILL)
        for process in running:
            process.join()
