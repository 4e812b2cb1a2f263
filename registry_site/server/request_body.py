"""The body of a request, received at a minimum pace: gathered whole on the server's loop, or read in a thread."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from a2wsgi.asgi_typing import Receive
from a2wsgi.wsgi import Body
from django.conf import settings

from apps.lib.errors import RegistryError, Unavailable
from apps.lib.net.bodies import Disconnected, TooSlow, too_large

# Over HTTP/2 each message is a frame of 16 KiB. Waking the reader for each would dominate an upload's time.
GATHERED = 256 * 1024
LINGER_SECONDS = 0.01
# Bytes that wait in memory while the reader works.
AHEAD = 512 * 1024
# Memory of all gathered bodies of a process, and the overhead of each.
MEMORY = 64 * 1024 * 1024
EACH = 16 * 1024
# Bytes of a streamed body that must have arrived before it gets a thread.
FIRST = 16 * 1024
# The most that is read of a refused body.
DROP_BYTES = 16 * 1024 * 1024
DROP_SECONDS = 10.0


class Sender:
    """The sender of a body. Only time spent waiting for it counts, since the reader may be slower."""

    def __init__(self, receive: Receive) -> None:
        self.receive = receive
        self.has_begun = self.is_done = self.is_gone = False
        self._waited = 0.0
        self._came = 0

    async def next(self) -> bytes:
        """Return the next bytes; `is_done` tells whether they are the last. Raises Disconnected and TooSlow."""
        started = time.monotonic()
        self.has_begun = True
        try:
            async with asyncio.timeout(settings.CLIENT_TIMEOUT):
                message: Any = await self.receive()
        except TimeoutError:
            raise TooSlow from None
        return self.take(message, time.monotonic() - started)

    def take(self, message: Any, waited: float) -> bytes:
        """Return the bytes of a message that came after so many seconds. Raises Disconnected and TooSlow."""
        if message["type"] == "http.disconnect":
            self.is_gone = True
            raise Disconnected("the sender disconnected during the body")
        body: bytes = message.get("body", b"")
        self.is_done = not message.get("more_body", False)
        self._waited += waited
        self._came += len(body)
        patience = settings.CLIENT_TIMEOUT
        if self._waited >= patience and not self.is_done:
            if self._came < patience * settings.CLIENT_MIN_RATE:
                raise TooSlow
            self._waited, self._came = 0.0, 0
        return body

    async def drop(self, *, quiet: float | None = None) -> None:
        """Read and drop the rest, until its end, a limit, or `quiet` seconds of silence."""
        dropped = 0
        try:
            async with asyncio.timeout(DROP_SECONDS):
                while not self.is_done and dropped <= DROP_BYTES:
                    async with asyncio.timeout(quiet):
                        dropped += len(await self.next())
        except (TimeoutError, RegistryError):
            pass


@dataclass(eq=False)
class Place:
    """One body's share of the memory."""

    task: "asyncio.Task[Any] | None"
    size: int = 0
    is_lost: bool = False


class Gathering:
    """Gathers small bodies on the loop, so that only complete ones get a thread.

    They share MEMORY. If it is full, the oldest body is dropped: an honest one is complete within moments.
    """

    def __init__(self) -> None:
        self._size = 0
        self._coming: dict[Place, None] = {}  # the oldest first

    @contextmanager
    def place(self) -> Iterator[Place]:
        """Yield a place for as long as the body is in memory."""
        place = Place(asyncio.current_task())
        try:
            yield place
        finally:
            self._take(place, -place.size)

    async def body(self, sender: Sender, place: Place, *, limit: int) -> bytes:
        """Return the whole body. Raises TooLarge, and what `first` raises."""
        body = await self.first(sender, place, limit + 1)
        if len(body) > limit:
            self._take(place, -place.size)
            raise too_large(limit)
        return body

    async def first(self, sender: Sender, place: Place, count: int) -> bytes:
        """Return at least `count` bytes, or all. Raises TooSlow, Disconnected, and Unavailable if memory is short."""
        taken, is_there = bytearray(), False
        self._coming[place] = None
        try:
            self._take(place, EACH)
            async with asyncio.timeout(2 * settings.CLIENT_TIMEOUT):
                while not sender.is_done and len(taken) < count:
                    piece = await sender.next()
                    self._take(place, len(piece))
                    taken += piece
                if place.is_lost:
                    await asyncio.sleep(0)  # receive the cancellation here, where it is expected
            is_there = True
        except TimeoutError:
            raise TooSlow from None
        except asyncio.CancelledError:
            if not place.is_lost or place.task is None:
                raise
            place.task.uncancel()
            raise Unavailable("Too many requests at the same time.", hint="Try again in a moment.") from None
        finally:
            del self._coming[place]
            if not is_there:
                self._take(place, -place.size)
        return bytes(taken)

    def _take(self, place: Place, size: int) -> None:
        place.size += size
        self._size += size
        if size > 0 and self._size > MEMORY:
            oldest = next((other for other in self._coming if not other.is_lost), None)
            if oldest is not None and oldest.task is not None:
                oldest.is_lost = True
                oldest.task.cancel()


class RequestBody(Body):
    """`wsgi.input` of a streamed body, read in a thread.

    Reading raises the error that ended it. Nothing is received before the first read or `begin`. Call `begin` and
    `close` on `loop`, which is that of the request.

    Each message asks for the next one: a timer and a task for each frame of HTTP/2 took six times as long as the frame
    itself. A single timer watches the sender's pace.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, sender: Sender) -> None:
        super().__init__(loop, sender.receive)
        self.sender = sender
        self._has_begun = False  # the reader
        # The rest belongs to whoever has the lock.
        self._changed = threading.Condition()
        self._came: deque[bytes] = deque()
        self._size = 0
        self._error: RegistryError | None = None
        self._is_over = self._is_paused = self._is_closed = False
        self._coming: Any = None  # the future of the next message
        self._asked_at = 0.0
        self._watching: asyncio.TimerHandle | None = None

    def read1(self, size: int) -> bytes:
        """Return 1 to `size` bytes that have arrived; empty only at the end."""
        if self.buffer:
            return bytes(self.read(min(size, len(self.buffer))))
        return self._next(size)

    async def receive_first_bytes(self, gathering: Gathering) -> RegistryError | None:
        """On the loop, so that no thread waits for a sender that sends next to nothing.

        Return why they did not come; reading raises the same.
        """
        with gathering.place() as place:
            first, error = b"", None
            try:
                first = await gathering.first(self.sender, place, FIRST)
            except RegistryError as refusal:
                error = refusal
            with self._changed:
                self._add(first, error)
        return error

    @property
    def has_arrived(self) -> bool:
        return self.sender.is_done

    async def close(self) -> None:
        """Stop receiving."""
        with self._changed:
            self._is_closed = True
            coming, self._coming = self._coming, None
            if self._watching is not None:
                self._watching.cancel()
        if coming is not None:
            coming.cancel()
            await asyncio.sleep(0)

    def _receive_more_data(self) -> bytes:
        return self._next(GATHERED)

    def _next(self, size: int) -> bytes:
        if not self._has_more:
            return b""
        if not self._has_begun:
            self._has_begun = True
            self.loop.call_soon_threadsafe(self._start)
        with self._changed:
            self._changed.wait_for(lambda: self._came or self._is_over)
            enough = min(size, GATHERED)
            self._changed.wait_for(lambda: self._size >= enough or self._is_over, LINGER_SECONDS)
            pieces: list[bytes] = []
            while self._came and size:
                piece = self._came.popleft()
                if len(piece) > size:
                    self._came.appendleft(piece[size:])
                    piece = piece[:size]
                pieces.append(piece)
                size -= len(piece)
                self._size -= len(piece)
            self._has_more = self._error is not None or not self._is_over or bool(self._came)
            if not pieces and self._error is not None:
                raise self._error
            goes_on = self._is_paused and self._size <= AHEAD
            if goes_on:
                self._is_paused, self._asked_at = False, time.monotonic()
        if goes_on:
            self.loop.call_soon_threadsafe(self._ask)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    # --- On the loop --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._asked_at = time.monotonic()
        self._watch()
        self._ask()

    def _watch(self) -> None:
        """End a body whose sender is silent for too long, or whose next message got lost in a failure."""
        patience = settings.CLIENT_TIMEOUT
        with self._changed:
            if self._is_closed or self._is_over:
                return
            silent = 0.0 if self._is_paused else time.monotonic() - self._asked_at
            if silent < patience:
                self._watching = self.loop.call_later(patience - silent, self._watch)
                return
            if self._coming is not None:
                self._coming.cancel()
            self._add(b"", TooSlow())

    def _ask(self) -> None:
        with self._changed:
            if self._is_closed or self._is_over:
                return
            self.sender.has_begun = True
            self._asked_at = time.monotonic()
            coming: Any = self.sender.receive()
            if not hasattr(coming, "add_done_callback"):  # of another server than granian
                coming = asyncio.ensure_future(coming, loop=self.loop)
            self._coming = coming
        coming.add_done_callback(self._take)

    def _take(self, came: Any) -> None:
        with self._changed:
            self._coming = None
            try:
                body, error = self.sender.take(came.result(), time.monotonic() - self._asked_at), None
            except asyncio.CancelledError:
                return
            except RegistryError as refusal:
                body, error = b"", refusal
            if self._is_closed or self._is_over:
                return
            self._add(body, error)
            self._is_paused = self._size > AHEAD and not self._is_over
            goes_on = not (self._is_paused or self._is_over)
        if goes_on:
            self._ask()

    def _add(self, body: bytes, error: RegistryError | None) -> None:
        was_empty = not self._came
        if body:
            self._came.append(body)
            self._size += len(body)
        self._error = error
        self._is_over = self.sender.is_done or error is not None
        if was_empty or self._size >= GATHERED or self._is_over:
            self._changed.notify()
