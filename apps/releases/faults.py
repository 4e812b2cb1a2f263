"""Points at which a test may kill or stop this process, before and after every step of a pipeline.

`LARDER_CRASH_AT=after:store` kills once; `LARDER_CRASH_AT=stop:before:check` stops (SIGSTOP). Each point acts once per
data folder: the worker that comes back must be able to finish the job.
"""

import os
import signal

import structlog
from django.conf import settings

log = structlog.get_logger("larder.faults")


def reach(point: str) -> None:
    asked = settings.CRASH_AT
    if not asked or asked.removeprefix("stop:") != point:
        return
    marker = settings.DATA_DIR / f"crashed-{asked.replace(':', '-')}"
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return
    log.warning("fault", point=point, pid=os.getpid())
    os.kill(os.getpid(), signal.SIGSTOP if asked.startswith("stop:") else signal.SIGKILL)
