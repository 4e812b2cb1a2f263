"""`manage.py drain`: take this host's web processes out of a load balancer while they continue to serve, then stop
them.
"""

import os
import signal
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from registry_site.server import probes
from registry_site.server.serving import PID_FILE
from registry_site.startup import bootstrap

SPARE_SECONDS = 10
TICK = 0.1


class Command(BaseCommand):
    help = "Make /readyz answer 503; other requests are served as before. With --stop the processes end afterwards."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        way = parser.add_mutually_exclusive_group()
        way.add_argument("--stop", action="store_true", help="Then stop `manage.py up` or `web` of this data folder.")
        way.add_argument("--undo", action="store_true", help="Answer 200 again.")
        parser.add_argument(
            "--seconds", type=int, default=15, metavar="N", help="Seconds to wait before the stop (default: 15)."
        )

    def handle(self, *_: Any, stop: bool, undo: bool, seconds: int, **__: Any) -> None:
        if not settings.DATA_DIR.is_dir():
            raise CommandError(
                f"{settings.DATA_DIR} does not exist: set LARDER_DATA_DIR to the value that the processes use."
            )
        if undo:
            probes.DRAINING.unlink(missing_ok=True)
            self.stdout.write("/readyz answers as usual again.")
            return
        probes.DRAINING.touch(mode=0o600)
        self.stdout.write("/readyz answers 503; all other requests are served as before.")
        if not stop:
            return
        pid = running()
        if pid is None:
            probes.DRAINING.unlink()
            raise CommandError(f"No web process runs on {settings.DATA_DIR}.")
        time.sleep(seconds)
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + settings.STOP_NOTICE + settings.DRAIN_TIME + SPARE_SECONDS
        while is_alive(pid):
            if time.monotonic() > deadline:
                raise CommandError(f"Process {pid} has not ended yet.")
            time.sleep(TICK)
        probes.DRAINING.unlink(missing_ok=True)
        self.stdout.write(f"Process {pid} has ended.")


def running() -> int | None:
    """Return the id of `up`, or of `web` by itself."""
    try:
        with bootstrap.only_one(settings.DATA_DIR):
            pass
    except bootstrap.CannotStartError:
        return _number_in(settings.DATA_DIR / "lock")
    pid = _number_in(settings.DATA_DIR / PID_FILE)
    return pid if pid is not None and is_alive(pid) else None


def _number_in(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def is_alive(pid: int) -> bool:
    """Return whether the process is there and one of ours: ids are given again."""
    try:
        os.kill(pid, 0)
        command = Path(f"/proc/{pid}/cmdline")
        return not command.exists() or b"manage.py" in command.read_bytes()
    except OSError:
        return False
