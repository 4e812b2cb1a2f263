"""The body of a request, as the server's loop receives it: kept at a pace, gathered whole or read in another thread."""

import asyncio
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from a2wsgi.asgi_typing import Receive
from a2wsgi.wsgi import Body
from django.conf import settings

from apps.lib.bodies import Disconnected, TooSlow, too_large
from apps.lib.errors import RegistryError, Unavailable

# Over HTTP/2 each message is one frame of 16 KiB. Waking the reader for each would take most of an upload's time.
GATHERED = 256 * 1024
LINGER_SECONDS = 0.01
# What may wait in memory while the reader hashes and writes what came before; what is being gathered comes on top.
AHEAD = 512 * 1024
# What the gathered bodies of a process may take together, and what each takes besides its bytes.
MEMORY = 64 * 1024 * 1024
EACH = 16 * 1024
# What must have come of a streamed body before it gets a thread.
FIRST = 16 * 1024
# What is read of a body that was refused, at most.
DROP_BYTES = 16 * 1024 * 1024
DROP_SECONDS = 10.0


class Sender:
    """Sends the body. Only the time that is spent waiting for it counts: whoever reads it may be slower than it is."""

    def __init__(self, receive: Receive) -> None:
        self.receive = receive
        self.has_begun = self.is_done = self.is_gone = False
        self._waited = 0.0
        self._came = 0

    async def next(self) -> bytes:
        """What came next; `is_done` says whether it was the last. Raises Disconnected, or TooSlow below the pace."""
        patience = settings.CLIENT_TIMEOUT
        loop = asyncio.get_running_loop()
        started = loop.time()
        self.has_begun = True
        try:
            async with asyncio.timeout(patience):
                message: Any = await self.receive()
        except TimeoutError:
            raise TooSlow from None
        if message["type"] == "http.disconnect":
            self.is_gone = True
            raise Disconnected("the sender went away in the middle of the body")
        body: bytes = message.get("body", b"")
        self.is_done = not message.get("more_body", False)
        self._waited += loop.time() - started
        self._came += len(body)
        if self._waited >= patience and not self.is_done:
            if self._came < patience * settings.CLIENT_MIN_RATE:
                raise TooSlow
            self._waited, self._came = 0.0, 0
        return body

    async def drop(self, *, quiet: float | None = None) -> None:
        """Read what comes, to its end or for a while, or until nothing came for `quiet` seconds."""
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
    """Gathers small bodies on the loop, so that only whole ones get a thread.

    They share MEMORY. Where it is full, the body that has been coming for longest gives way: an honest one is there
    within moments.
    """

    def __init__(self) -> None:
        self._size = 0
        self._coming: dict[Place, None] = {}  # the oldest first

    @contextmanager
    def place(self) -> Iterator[Place]:
        """Take one for as long as the body is in memory."""
        place = Place(asyncio.current_task())
        try:
            yield place
        finally:
            self._take(place, -place.size)

    async def body(self, sender: Sender, place: Place, *, limit: int) -> bytes:
        """All of it. Raises TooLarge, and what `first` raises."""
        body = await self.first(sender, place, limit + 1)
        if len(body) > limit:
            self._take(place, -place.size)
            raise too_large(limit)
        return body

    async def first(self, sender: Sender, place: Place, count: int) -> bytes:
        """So many bytes, some more, or all. Raises TooSlow, Disconnected, or Unavailable where memory is short."""
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
                    await asyncio.sleep(0)  # or the cancellation would come later, where nobody expects it
            is_there = True
        except TimeoutError:
            raise TooSlow from None
        except asyncio.CancelledError:
            if not place.is_lost or place.task is None:
                raise
            place.task.uncancel()
            raise Unavailable("Too many requests are being sent at once.", hint="Try again in a moment.") from None
        finally:
            del self._coming[place]
            if not is_there:
                self._take(place, -place.size)
        return bytes(taken)

    def _take(self, place: Place, size: int) -> None:
        place.size += size
        self._size += size
        if size > 0 and self._size > MEMORY:
            oldest = next((one for one in self._coming if not one.is_lost), None)
            if oldest is not None and oldest.task is not None:
                oldest.is_lost = True
                oldest.task.cancel()


class RequestBody(Body):
    """`wsgi.input` of a streamed body: taken on the loop, read in another thread.

    Reading raises what ended it. Nothing is taken before the first read, unless by `begin`. `loop` is that of the
    request; `begin` and `close` must be called there.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, sender: Sender) -> None:
        super().__init__(loop, sender.receive)
        self.sender = sender
        self._changed = threading.Condition()
        self._came: deque[bytes] = deque()
        self._size = 0
        self._is_taking = self._is_over = False
        self._error: RegistryError | None = None
        # These belong to the loop: what is not handed over yet.
        self._taking: asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self._gathered = bytearray()
        self._lingering: asyncio.TimerHandle | None = None

    def read1(self, size: int) -> bytes:
        """What has come, 1 to `size` bytes; empty at the end alone."""
        if self.buffer:
            return bytes(self.read(min(size, len(self.buffer))))
        return self._next(size)

    async def begin(self, gathering: Gathering) -> None:
        """Take its beginning before anybody reads, so that who sends next to nothing is not waited for in a thread."""
        with gathering.place() as place:
            try:
                self._gathered += await gathering.first(self.sender, place, FIRST)
            except RegistryError as error:
                self._hand_over(error=error)
            else:
                self._hand_over()

    async def close(self) -> None:
        """Take no more."""
        if self._taking is not None:
            self._taking.cancel()
            await asyncio.wait([self._taking])

    def _receive_more_data(self) -> bytes:
        return self._next(GATHERED)

    def _next(self, size: int) -> bytes:
        if not self._has_more:
            return b""
        if not self._is_taking:
            self._is_taking = True
            self.loop.call_soon_threadsafe(self._start)
        with self._changed:
            self._changed.wait_for(lambda: self._came or self._is_over)
            pieces = self._pop(size)
            self._has_more = self._error is not None or not self._is_over or bool(self._came)
            if not pieces and self._error is not None:
                raise self._error
            is_room = self._size <= AHEAD and not self._is_over
        if is_room:
            self.loop.call_soon_threadsafe(self._room.set)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _pop(self, size: int) -> list[bytes]:
        pieces: list[bytes] = []
        while self._came and size:
            piece = self._came.popleft()
            if len(piece) > size:
                self._came.appendleft(piece[size:])
                piece = piece[:size]
            pieces.append(piece)
            size -= len(piece)
            self._size -= len(piece)
        return pieces

    # --- On the loop --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._taking = self.loop.create_task(self._take())

    async def _take(self) -> None:
        try:
            if self._error is None:
                await self._take_all()
        except RegistryError as error:
            self._hand_over(error=error)

    async def _take_all(self) -> None:
        # Since it was last looked whether there is room: what lingering handed over counts as well, or a slow sender
        # would fill the memory while the reader stands still.
        size = 0
        while not self.sender.is_done:
            body = await self.sender.next()
            self._gathered += body
            size += len(body)
            if size >= GATHERED or self.sender.is_done:
                size = 0
                if not self._hand_over() and not self.sender.is_done:
                    await self._room.wait()
            elif body and self._lingering is None:
                self._lingering = self.loop.call_later(LINGER_SECONDS, self._hand_over)

    def _hand_over(self, *, error: RegistryError | None = None) -> bool:
        """Give the reader what was gathered; whether more should be taken now."""
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        with self._changed:
            if self._gathered:
                self._came.append(bytes(self._gathered))
                self._size += len(self._gathered)
                self._gathered.clear()
            self._error = error
            self._is_over = self.sender.is_done or error is not None
            self._room.clear()
            self._changed.notify()
            return self._size <= AHEAD
