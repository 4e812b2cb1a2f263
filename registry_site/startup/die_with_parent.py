"""Nobody outlives the process that started it, not even after `kill -9`.

A parent that is killed so cannot tell its children, and an orphan that goes on serving or working looks like a Larder
that does not listen to anybody. Every process of ours calls `arm` as early as it can:

- children of `manage.py up` with the parent's process id, which they get as an argument;
- granian's workers in wsgi.py, without one: multiprocessing knows who made them;
- Celery's beat and pool processes through Celery's signals (worker.py).
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
    """Send this process `with_signal` once `parent` is gone; at once if it is gone already.

    SIGKILL, because granian and Celery answer SIGTERM by waiting for work that may never end, and losing a worker at
    any point is what job leases are for. Without `parent` the process must be one of multiprocessing's; in any other
    (a foreign WSGI server's worker) nothing happens: that server looks after its own.

    Call it from the main thread: Linux keeps the wish per thread, and a thread that ends takes it along.
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
    # The parent may have gone before the kernel knew our wish; then nobody will send anything.
    if os.getppid() != parent:
        os.kill(os.getpid(), with_signal)


def _watch(parent: int, with_signal: signal.Signals) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_INTERVAL)
    os.kill(os.getpid(), with_signal)
