"""The limit on threads of requests that one account may keep busy at once with child processes.

Counted in each web process, where the threads are. A rate limit cannot do this: it counts how many requests came, not
how long each of them has kept a thread. Clients push in parallel, and some do not repeat what was answered 429: where
the server can call a request again (jobs/waiting.py), it waits for its turn, in order and without a thread.
"""

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Any

from django.conf import settings

from apps.accounts.access.gate import Viewer
from apps.jobs.waiting import Waiting
from apps.lib.errors import TooManyAttempts
from apps.lib.process import metrics

# Of one account, beside those that have a slot.
MAX_WAITING = 200
_WAITS = "waits"


@dataclass(slots=True, eq=False)
class Turn:
    """A request that may wait for so long, once: `until` then, by time.monotonic()."""

    number: int
    seconds: float
    until: float | None = None

    def begin(self) -> bool:
        """Return whether it may start waiting, or continue to."""
        if self.until is None:
            self.until = time.monotonic() + self.seconds
        return self.until > time.monotonic()


class NoSlot(TooManyAttempts):
    """`turn`: the request is in the queue, and its edge asks to be called again with `resume`; None: it is refused."""

    def __init__(self, most: int, turn: Turn | None) -> None:
        super().__init__(
            f"{most} of your requests are being worked on, the maximum.", hint="Try again in a few seconds.", wait=2
        )
        self.turn = turn
        self.resume: Any = None

    @property
    def waiting(self) -> Waiting | None:
        if self.turn is None or self.turn.until is None:
            return None
        return Waiting(_states_of, self.turn.number, (_WAITS,), self.turn.until, self.resume)


_taken: Counter[int | None] = Counter()  # by account
_queues: dict[int | None, list[Turn]] = {}
_lock = Lock()
_numbers = count(1)
# Of this request, for all of its calls: the server runs them in one context.
_turn: ContextVar[Turn | None] = ContextVar("turn", default=None)


def may_wait(seconds: float) -> None:
    """Let this request wait for a slot. For edges that are called again. Safe to repeat."""
    if _turn.get() is None:
        _turn.set(Turn(next(_numbers), seconds))


@contextmanager
def slot_of(viewer: Viewer) -> Iterator[None]:
    """Take one of the account's slots, a quarter of the threads. Raises NoSlot.

    Of people without an account all together have so many.
    """
    key, most = viewer.user_id, _most()
    with _lock:
        _begin(key, most, _turn.get())
    try:
        yield
    finally:
        with _lock:
            _taken[key] -= 1
            if not _taken[key]:
                del _taken[key]


def _most() -> int:
    return max(2, min(settings.WEB_THREADS, settings.UPLOAD_THREADS) // 4)


def _begin(key: int | None, most: int, turn: Turn | None) -> None:
    """Take a slot, unless others came before. Raises NoSlot."""
    # One whose time is over is refused when it is called, and one that was called may have failed before it came here.
    queue = [one for one in _queues.pop(key, ()) if one.begin()]
    ahead = queue.index(turn) if turn in queue else len(queue)
    is_next = _taken[key] + ahead < most
    if is_next:
        _taken[key] += 1
        queue = [one for one in queue if one is not turn]
    elif turn is not None and turn not in queue and len(queue) < MAX_WAITING and turn.begin():
        queue.append(turn)
    if queue:
        _queues[key] = queue
    if is_next:
        if turn is not None:
            turn.until = None
        return
    is_waiting = turn in queue
    if not is_waiting:
        metrics.rate_limit_refusals.labels("slots").inc()
    raise NoSlot(most, turn if is_waiting else None)


def _states_of(turns: Collection[int]) -> Mapping[int, object]:
    """Return the turns that have to wait, for requests that were called before."""
    most = _most()
    with _lock:
        late = {turn.number for key, queue in _queues.items() for turn in queue[max(0, most - _taken[key]) :]}
    return dict.fromkeys(late & set(turns), _WAITS)
