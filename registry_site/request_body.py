"""`wsgi.input` over ASGI's receive: what comes is gathered on the loop, and read in another thread."""

import asyncio
import threading
from collections import deque
from typing import Any

from a2wsgi.asgi_typing import Receive
from a2wsgi.wsgi import Body

# A sender that is silent for this long holds a thread for nothing.
IDLE_SECONDS = 30
# Over HTTP/2 each message is one frame of 16 KiB. Waking the reader for each would take most of an upload's time.
GATHERED = 256 * 1024
LINGER_SECONDS = 0.01
# What may wait in memory while the reader hashes and writes what came before; what is being gathered comes on top.
AHEAD = 512 * 1024


class RequestBody(Body):
    """Raises ConnectionResetError or TimeoutError (each an OSError) where the body breaks off.

    Nothing is taken before the first read. `loop` is that of the request; `close` must be called there.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, receive: Receive) -> None:
        super().__init__(loop, receive)
        self._changed = threading.Condition()
        self._came: deque[bytes] = deque()
        self._size = 0
        self._is_taking = self._ended = self._broken = False
        # These belong to the loop: what is not handed over yet.
        self._taking: asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self._gathered: list[bytes] = []
        self._lingering: asyncio.TimerHandle | None = None

    def read1(self, size: int) -> bytes:
        """What has come, 1 to `size` bytes; empty at the end alone."""
        if self.buffer:
            return bytes(self.read(min(size, len(self.buffer))))
        return self._next(size)

    def close(self) -> None:
        """Take no more."""
        if self._taking is not None:
            self._taking.cancel()

    def _receive_more_data(self) -> bytes:
        return self._next(GATHERED)

    def _next(self, size: int) -> bytes:
        if not self._has_more:
            return b""
        if not self._is_taking:
            self._is_taking = True
            self.loop.call_soon_threadsafe(self._start)
        with self._changed:
            if not self._changed.wait_for(lambda: self._came or self._is_over, IDLE_SECONDS):
                raise TimeoutError(f"nothing of the body came for {IDLE_SECONDS} s")
            pieces = self._pop(size)
            self._has_more = not self._ended or bool(self._came)
            if not pieces and self._broken:
                raise ConnectionResetError("the sender went away in the middle of the body")
            is_room = self._size <= AHEAD and not self._is_over
        if is_room:
            self.loop.call_soon_threadsafe(self._room.set)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @property
    def _is_over(self) -> bool:
        return self._ended or self._broken

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
        # Since it was last looked whether there is room: what lingering handed over counts as well, or a slow sender
        # would fill the memory while the reader stands still.
        size = 0
        while True:
            message: Any = await self.receive()
            if body := message.get("body", b""):
                self._gathered.append(body)
                size += len(body)
            is_broken = message["type"] == "http.disconnect"
            is_over = is_broken or not message.get("more_body", False)
            if is_over or size >= GATHERED:
                is_room = self._hand_over(ended=is_over and not is_broken, broken=is_broken)
                size = 0
                if is_over:
                    return
                if not is_room:
                    await self._room.wait()
            elif self._lingering is None:
                self._lingering = self.loop.call_later(LINGER_SECONDS, self._hand_over)

    def _hand_over(self, *, ended: bool = False, broken: bool = False) -> bool:
        """Give the reader what was gathered; whether more should be taken now."""
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        with self._changed:
            self._came.extend(self._gathered)
            self._size += sum(map(len, self._gathered))
            self._gathered.clear()
            self._ended, self._broken = ended, broken
            self._room.clear()
            self._changed.notify()
            return self._size <= AHEAD
