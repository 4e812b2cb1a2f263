"""End a process with its parent, even after `kill -9`.

Otherwise orphans of a killed parent would keep serving and working out of control. Every process calls `arm` as early
as it can:

- children of `manage.py up` with the parent's process id, which they get as an argument;
- granian's workers in wsgi.py without one, since multiprocessing knows their parent;
- the processes of Celery's prefork pool through its signal (serving.py).
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
WATCH_INTERVAL = 0.5


def arm(parent: int | None = None, *, with_signal: signal.Signals = signal.SIGKILL) -> None:
    """Send this process `with_signal` once `parent` is gone, or at once if it is gone already.

    SIGKILL by default, because granian and Celery answer SIGTERM by waiting for work that may never end, and job leases
    survive the loss of a worker. Without `parent` this only works in a process of multiprocessing; elsewhere (in the
    worker of another WSGI server) it does nothing.

    Call it from the main thread: Linux ties the setting to the thread.
    """
    if parent is None:
        maker = multiprocessing.parent_process()
        if maker is None or maker.pid is None:
            return
        parent = maker.pid
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(with_signal), 0, 0, 0)
    else:
        threading.Thread(target=_watch, args=(parent, with_signal), daemon=True, name="die-with-parent").start()
    # If the parent has gone before prctl, the kernel sends nothing.
    if os.getppid() != parent:
        os.kill(os.getpid(), with_signal)


def _watch(parent: int, with_signal: signal.Signals) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_INTERVAL)
    os.kill(os.getpid(), with_signal)
