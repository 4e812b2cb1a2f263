"""The threads that answer requests, and the limits on requests that run or wait for storage at a time.

People and machines have threads of their own: a crowd of machines fills its own queue, and a page waits for none of
them. A crowd may also ask for pages: requests without a session take at most half of the threads for people, so that
those who have signed in need not wait for it. All threads share one interpreter, so while a page is being made, and
shortly after, one request of machines runs beside it. What reads storage waits for its turn on the event loop, without
a thread, so that half of the threads for machines are left for all that needs no storage. While storage is away nothing
waits for a turn: each fails at once.
"""

import asyncio
import math
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor
from contextlib import asynccontextmanager, contextmanager

from django.conf import settings

from apps.blobs import store
from apps.http.errors import dialect_at
from apps.lib.process import outside
from registry_site.server.threads import CountedThreads

# Files by their digests: archives, packages of other registries, blobs of OCI.
_READS_STORAGE = re.compile(r"/archives/|/v1/mirror/.+\.zip\Z|/v2/.+/blobs/")
# So many requests of machines run beside those of people, not counting those that have run for so long: they wait.
BESIDE_PEOPLE, COMPUTES_SECONDS = 1, 0.2
# A page that takes longer waits for something, such as an identity provider, and sign-ins must not wait for that.
WAITS_SECONDS = 2.0
# A page is followed by what it is made of, and by the next page.
LINGER_SECONDS = 1.0
LOOK_SECONDS = 0.05


class Turns:
    """At most `limit` at a time, in order. `is_free`: no request needs a turn now.

    A turn counts for `counts_seconds`: what lasts longer waits for something rather than computes. Everything but
    `hurry` runs on the event loop. Call `look` when another may continue.
    """

    def __init__(
        self, limit: int, is_free: Callable[[], bool] = lambda: False, *, counts_seconds: float = math.inf
    ) -> None:
        self._limit, self._is_free, self._counts_seconds = limit, is_free, counts_seconds
        self._began: dict[object, float] = {}
        self._waiting: deque[asyncio.Future[object | None]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def taken(self) -> int:
        since = time.monotonic() - self._counts_seconds
        return sum(began > since for began in self._began.values())

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        turn = await self._take()
        try:
            yield
        finally:
            self._give(turn)

    async def _take(self) -> object | None:
        if self._is_free():
            return None
        if not self._waiting and self.taken < self._limit:
            return self._begin()
        self._loop = asyncio.get_running_loop()
        waiter: asyncio.Future[object | None] = self._loop.create_future()
        self._waiting.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._give(waiter.result())
            raise

    def _begin(self) -> object:
        turn = object()
        self._began[turn] = time.monotonic()
        return turn

    def _give(self, turn: object | None) -> None:
        if turn is not None:
            del self._began[turn]
            self.look()

    def look(self) -> None:
        """Let all requests continue that may."""
        while self._waiting:
            is_free = self._is_free()
            if not is_free and self.taken >= self._limit:
                return
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None if is_free else self._begin())

    def hurry(self, _circuit: object = None) -> None:
        """Look soon. In any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.look)


class Lanes:
    def __init__(self) -> None:
        size = settings.WEB_THREADS
        half = max(1, size // 2)
        self.machines = CountedThreads(size, "web", most_outside=half, is_for_machines=True)
        self.people = CountedThreads(half, "people", most_outside=max(1, half // 2))
        self.storage = Turns(half, lambda: store.is_on_this_host() or store.is_away())
        self.strangers = Turns(max(1, half // 2), counts_seconds=WAITS_SECONDS)
        self.beside_people = Turns(BESIDE_PEOPLE, lambda: not self._is_shared, counts_seconds=COMPUTES_SECONDS)
        outside.listeners.append(self.storage.hurry)
        self._people = 0
        self._is_shared = False  # with people, now or a moment ago
        self._shared_until = 0.0

    def of(self, path: str) -> CountedThreads:
        return self.people if dialect_at(path) is None else self.machines

    @asynccontextmanager
    async def turn(
        self, threads: Executor, method: str, path: str, *, has_session: bool = False
    ) -> AsyncIterator[None]:
        """Around the call of Django for a request. `has_session`: it says so, which is not verified yet."""
        if threads is self.people and has_session:
            with self._person():
                yield
        elif threads is self.people:
            async with self.strangers.turn():
                with self._person():
                    yield
        elif threads is not self.machines:
            yield
        elif method == "GET" and _READS_STORAGE.match(path):
            async with self.storage.turn():
                yield
        else:
            async with self.beside_people.turn():
                yield

    @contextmanager
    def _person(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        self._people += 1
        if not self._is_shared:
            self._is_shared = True
            loop.call_later(LOOK_SECONDS, self._look, loop)
        try:
            yield
        finally:
            self._people -= 1
            self._shared_until = loop.time() + LINGER_SECONDS

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let more machines run once some of them wait, or people are gone."""
        if self._people or loop.time() < self._shared_until:
            loop.call_later(LOOK_SECONDS, self._look, loop)
        else:
            self._is_shared = False
        self.beside_people.look()
        self.strangers.look()
