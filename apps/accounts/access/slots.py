"""How many threads of requests one account may keep busy at once with child processes.

Counted in each web process, where the threads are. A rate limit cannot do this: it counts how many requests came, not
how long each of them has kept a thread.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from django.conf import settings

from apps.accounts.access.gate import Viewer
from apps.lib.errors import TooManyAttempts
from apps.lib.process import metrics

_taken: Counter[int | None] = Counter()  # by account
_lock = Lock()


@contextmanager
def slot_of(viewer: Viewer) -> Iterator[None]:
    """Take one of the account's slots, a quarter of the threads. Raises TooManyAttempts.

    Of people without an account all together have so many.
    """
    key, most = viewer.user_id, max(2, min(settings.WEB_THREADS, settings.UPLOAD_THREADS) // 4)
    with _lock:
        if _taken[key] >= most:
            metrics.rate_limit_refusals.labels("slots").inc()
            refusal = f"{most} of your requests are being worked on, the maximum."
            raise TooManyAttempts(refusal, hint="Try again in a few seconds.", wait=2)
        _taken[key] += 1
    try:
        yield
    finally:
        with _lock:
            _taken[key] -= 1
            if not _taken[key]:
                del _taken[key]
