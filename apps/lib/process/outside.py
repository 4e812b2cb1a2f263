"""Waits for what is outside of this process: storage, issuers, identity providers, registries, key services, mail.

A thread that waits keeps no connection to the database, and of the threads that answer requests at most half wait at a
time. A `Circuit` also leaves a service alone that does not answer: callers are refused at once, and a thread asks it
until it answers again.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import structlog

from apps.lib.errors import Unavailable
from apps.lib.process import metrics
from apps.lib.process.periodic import Periodic

# So many exchanges in succession without an answer open a circuit.
MAX_FAILURES = 3
# So does a silence, while exchanges wait: after the first of these the service is asked whether it answers at all.
SUSPECT_SECONDS, SILENCE_SECONDS = 2.0, 4.0
# So do as many of the last ones, however the others ended. Then it takes more than one answer to close it.
RECENT, RECENT_SECONDS, MAX_OF_RECENT, ANSWERS_TO_CLOSE = 20, 60.0, 6, 3
# What clients of storage have for a connection and for the next bytes of an answer: whoever waits when the circuit
# opens has left soon after. They repeat what failed sooner than the last of these, and never what ran out of time.
CONNECT_SECONDS, READ_SECONDS, REPEAT_SECONDS = 2.0, 6.0, 2.0
# Between two questions to a service that is away.
PAUSE_SECONDS = 1.0
# A request waits so long in its thread until fewer others wait for what is outside.
PLACE_SECONDS = 1.0
TICK_SECONDS = 0.5
MAX_CIRCUITS = 1000
# As metrics name services.
STORAGE, SIGN_ON, ISSUERS = "storage", "sign_on", "issuers"

log = structlog.get_logger("larder.outside")


class TooManyWait(Unavailable):
    """Half of the threads wait for what is outside."""

    def __init__(self) -> None:
        super().__init__(
            "Too many requests are waiting for other services right now.", hint="Try again in a few seconds."
        )


def _nothing() -> None: ...


# Gives the thread's database connection back: `jobs` fills it in.
give_back: Callable[[], None] = _nothing


class Places:
    """For so many threads that wait at a time. `taken`: how many do."""

    def __init__(self, size: int) -> None:
        self.size, self.taken = size, 0
        self._free = threading.Condition()

    def take(self) -> bool:
        """Return False if none became free within PLACE_SECONDS."""
        with self._free:
            if not self._free.wait_for(lambda: self.taken < self.size, PLACE_SECONDS):
                return False
            self.taken += 1
            return True

    def give(self) -> None:
        with self._free:
            self.taken -= 1
            self._free.notify()


class _Thread(threading.local):
    places: Places | None = None
    has_place = False
    is_probing = False


_thread = _Thread()


def limit_thread(places: Places) -> None:
    """Let this thread wait for what is outside only while it has one of the places."""
    _thread.places = places


@contextmanager
def waiting(refusal: Callable[[], Exception] = TooManyWait) -> Iterator[None]:
    """Around everything that waits for another service. Raises `refusal` if too many threads wait already."""
    give_back()
    places = _thread.places
    if places is None or _thread.has_place:
        yield
        return
    if not places.take():
        metrics.outside_refusals.labels("too_many_wait").inc()
        raise refusal()
    _thread.has_place = True
    try:
        yield
    finally:
        _thread.has_place = False
        places.give()


class Circuit:
    """One service. `kind`: as metrics name it, which name nothing that people own; `name`: as the log does.

    `refusal` is what callers get while it is away. `probe` asks it something, and may fail. Without one, or where no
    thread watches (`watch`), one caller in PAUSE_SECONDS is let through instead.
    """

    def __init__(
        self, kind: str, name: str, refusal: Callable[[], Exception], probe: Callable[[], object] | None = None
    ) -> None:
        self.kind, self.name = kind, name
        self.is_open = False
        self._refusal, self._probe = refusal, probe
        self._recent: deque[tuple[float, bool]] = deque(maxlen=RECENT)  # when each ended, and whether by an answer
        self._is_unsteady = False  # it is open although some answers come
        self._answers = 0  # in succession, since it opened
        self._lock = threading.Lock()
        self._running: dict[object, float] = {}  # since when each exchange waits
        self._answered_at = self._opened_at = self._closed_at = self._next_try = 0.0
        self._failures = 0
        self._is_being_probed = False
        _circuits[kind, name] = self

    @contextmanager
    def exchange(self, *unanswered: type[BaseException]) -> Iterator[None]:
        """Around one exchange. Any end but an error of those types is an answer."""
        if self.is_open and not _thread.is_probing and not self._may_try():
            metrics.outside_refusals.labels(self.kind).inc()
            raise self._refusal()
        with waiting(self._refusal):
            exchange = object()
            with self._lock:
                self._running[exchange] = time.monotonic()
            is_answered = True
            try:
                yield
            except unanswered:
                is_answered = False
                raise
            finally:
                self._end(exchange, is_answered=is_answered)

    def _may_try(self) -> bool:
        if self._probe is not None and _watch.is_set():
            return False
        with self._lock:
            if time.monotonic() < self._next_try:
                return False
            self._next_try = time.monotonic() + PAUSE_SECONDS
            return True

    def _end(self, exchange: object, *, is_answered: bool) -> None:
        with self._lock:
            began, now = self._running.pop(exchange), time.monotonic()
            if is_answered:
                self._answered_at, self._failures = now, 0
            elif began > self._answered_at:  # or it waited for a service that is back since
                self._failures += 1
            if began >= max(self._opened_at, self._closed_at):
                self._recent.append((now, is_answered))
                self._answers = self._answers + 1 if is_answered else 0
            may_close = is_answered and (not self._is_unsteady or self._answers >= ANSWERS_TO_CLOSE)
            reason = self._reason_to_open(now)
        if may_close:
            self._close()
        elif reason:
            self._open(reason)

    def _reason_to_open(self, now: float) -> str:
        if self._failures >= MAX_FAILURES:
            return "failures"
        unanswered = sum(not is_answered and now - at < RECENT_SECONDS for at, is_answered in self._recent)
        return "share" if unanswered >= MAX_OF_RECENT else ""

    def _open(self, reason: str) -> None:
        with self._lock:
            if self.is_open:
                return
            self.is_open, self._is_unsteady = True, reason == "share"
            self._answers = 0
            self._opened_at = time.monotonic()
            self._next_try = self._opened_at + PAUSE_SECONDS
        metrics.circuit_openings.labels(self.kind).inc()
        log.warning("service_away", service=self.name, reason=reason, waiting=self.waiting)
        for listener in tuple(listeners):
            listener(self)

    def _close(self) -> None:
        with self._lock:
            if not self.is_open:
                return
            self.is_open = self._is_unsteady = False
            self._recent.clear()
            self._closed_at = time.monotonic()
            seconds = self._closed_at - self._opened_at
        log.warning("service_back", service=self.name, seconds=round(seconds, 1))

    def look(self) -> None:
        """Open it after a silence, and ask the service while it is suspect or away. The watch calls it."""
        now = time.monotonic()
        with self._lock:
            oldest = min(self._running.values(), default=now)
            silence = now - max(oldest, self._answered_at)
            asks = self.is_open or silence > SUSPECT_SECONDS
        if silence > SILENCE_SECONDS:
            self._open("silence")
        if asks and self._probe is not None and not self._is_being_probed and now >= self._next_try:
            self._next_try = now + PAUSE_SECONDS
            threading.Thread(target=self._ask, daemon=True, name=f"probe-{self.name}").start()

    def _ask(self) -> None:
        assert self._probe is not None  # noqa: S101  # see `look`
        _thread.is_probing = self._is_being_probed = True
        try:
            with suppress(Exception):  # the exchange inside has noted how it ended
                self._probe()
        finally:
            self._is_being_probed = False

    @property
    def waiting(self) -> int:
        """The number of exchanges under way."""
        return len(self._running)


# Called, in any thread, with a circuit that opens.
listeners: list[Callable[[Circuit], None]] = []
_circuits: dict[tuple[str, str], Circuit] = {}
_watch = threading.Event()
clear = _circuits.clear


def circuit_of(
    kind: str, name: str, refusal: Callable[[], Exception], probe: Callable[[], object] | None = None
) -> Circuit:
    """Return the circuit of a service that is known by its name alone, such as its host."""
    found = _circuits.get((kind, name))
    if found is None:
        if len(_circuits) >= MAX_CIRCUITS:
            _circuits.pop(next(iter(_circuits)), None)
        found = Circuit(kind, name, refusal, probe)
    return found


def circuits() -> tuple[Circuit, ...]:
    """Return those of this process."""
    return tuple(_circuits.values())


def figures() -> dict[str, dict[str, int]]:
    """Return for each kind how many circuits are open, and how many exchanges are under way."""
    found = {kind: {"open": 0, "waiting": 0} for kind in (STORAGE, SIGN_ON, ISSUERS)}
    for circuit in circuits():
        of_kind = found.setdefault(circuit.kind, {"open": 0, "waiting": 0})  # rooms have kinds of their own
        of_kind["open"] += circuit.is_open
        of_kind["waiting"] += circuit.waiting
    return found


def watch() -> None:
    """Look at all circuits from now on, in a thread. Web processes call it."""

    def look() -> None:
        for circuit in circuits():
            circuit.look()

    if not _watch.is_set():
        _watch.set()
        Periodic("outside", look, every=timedelta(seconds=TICK_SECONDS), rest=_nothing).start()
