"""Points where a test can kill or stop this process, before and after every step of a pipeline.

`LARDER_CRASH_AT` is a list of `[stop:]point[@version]`, such as `after:store_archive@1.0.1` (SIGKILL) or
`stop:before:check` (SIGSTOP). Each entry acts once per data folder: the worker that comes back must finish the job.
"""

import os
import signal
from typing import Protocol

import structlog
from django.conf import settings

log = structlog.get_logger("larder.faults")


class Versioned(Protocol):
    version: str


def fault_point(point: str, release: Versioned) -> None:
    for entry in settings.CRASH_AT:
        where, _, version = entry.removeprefix("stop:").partition("@")
        if where != point or version not in ("", release.version):
            continue
        marker = settings.DATA_DIR / f"crashed-{entry.replace(':', '-')}"
        try:
            marker.touch(exist_ok=False)
        except FileExistsError:
            continue
        log.warning("fault", entry=entry, pid=os.getpid())
        os.kill(os.getpid(), signal.SIGSTOP if entry.startswith("stop:") else signal.SIGKILL)
