"""The body of a request between the server's loop and the thread that reads it: whole, in order, never far ahead."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from queue import Queue
from typing import Any

import pytest
from django.conf import settings

from apps.lib.net.bodies import Disconnected, TooSlow
from registry_site.server.request_body import AHEAD, GATHERED, Gathering, RequestBody, Sender
from tests.site.processes import eventually

FRAME = 16 * 1024
GONE = {"type": "http.disconnect"}


def part(data: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": data, "more_body": more}


class Server:
    """The server's messages, one for each call; then silence."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.messages = messages
        self.handed = 0
        self.is_cancelled = threading.Event()

    async def receive(self) -> dict[str, Any]:
        await asyncio.sleep(0)
        if self.handed < len(self.messages):
            self.handed += 1
            return self.messages[self.handed - 1]
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.is_cancelled.set()
            raise
        raise AssertionError


@pytest.fixture
def body_of() -> Iterator[Callable[..., tuple[RequestBody, Server]]]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    made: list[RequestBody] = []

    def make(*messages: dict[str, Any]) -> tuple[RequestBody, Server]:
        server = Server(list(messages))
        made.append(RequestBody(loop, Sender(server.receive)))  # type: ignore[arg-type]  # a2wsgi types each message
        return made[-1], server

    yield make
    for body in made:
        asyncio.run_coroutine_threadsafe(body.close(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def frames(count: int) -> list[dict[str, Any]]:
    return [part(bytes([number % 251]) * FRAME, more=number + 1 < count) for number in range(count)]


def test_frames_come_gathered_whole_and_in_order(body_of):
    sent = frames(100)
    body, _ = body_of(*sent)
    read = list(iter(lambda: body.read1(512 * 1024), b""))

    assert b"".join(read) == b"".join(message["body"] for message in sent)
    assert len(read) <= 100 * FRAME // GATHERED + 1
    assert max(len(piece) for piece in read) <= 512 * 1024
    assert body.read1(10) == b""


def test_no_more_is_read_than_asked_for_and_nothing_is_lost_between(body_of):
    sent = [part(b"0123456789"), part(b"abcdefghij", more=False)]
    body, _ = body_of(*sent)

    assert body.read1(4) == b"0123"
    assert body.read(10) == b"456789abcd"
    assert body.read1(3) == b"efg"
    assert body.read() == b"hij"
    assert body.read1(1) == b""


def test_lines_are_read_across_messages(body_of):
    body, _ = body_of(part(b"one\ntw"), part(b"o\nthree", more=False))
    assert list(body) == [b"one\n", b"two\n", b"three"]


def test_what_comes_slowly_is_not_waited_for(body_of):
    body, _ = body_of(part(b"a first byte"))
    started = time.monotonic()

    assert body.read1(512 * 1024) == b"a first byte"
    assert time.monotonic() - started < settings.CLIENT_TIMEOUT / 2


def test_nothing_is_taken_before_it_is_read(body_of):
    _, server = body_of(*frames(3))
    time.sleep(0.05)
    assert server.handed == 0


def test_a_reader_that_is_slow_is_never_far_behind(body_of):
    body, server = body_of(*frames(1000))
    assert body.read1(1) != b""
    eventually(lambda: server.handed * FRAME >= GATHERED)
    time.sleep(0.2)  # by now it would have gone too far
    assert server.handed * FRAME <= AHEAD + 2 * GATHERED
    assert len(body.read()) == 1000 * FRAME - 1


def test_a_sender_that_leaves_is_an_error_after_what_it_sent(body_of):
    body, _ = body_of(part(b"half of"), GONE)

    assert body.read1(100) == b"half of"
    with pytest.raises(Disconnected):
        body.read1(100)
    with pytest.raises(Disconnected):
        body.read1(100)


@pytest.mark.parametrize("then", [[], [{"no": "type"}]], ids=["nothing", "a message that fails"])
def test_what_does_not_come_for_too_long_is_an_error(body_of, settings, then):
    settings.CLIENT_TIMEOUT = 0.05
    body, _ = body_of(part(b"half of"), *then)

    assert body.read1(100) == b"half of"
    with pytest.raises(TooSlow):
        body.read1(100)


def test_an_empty_body_ends_at_once(body_of):
    body, server = body_of(part(b"", more=False))
    assert (body.read1(100), body.read(), server.handed) == (b"", b"", 1)


def test_a_reader_goes_on_after_the_beginning(body_of):
    sent = frames(10)
    body, server = body_of(*sent)
    asyncio.run_coroutine_threadsafe(body.receive_first_bytes(Gathering()), body.loop).result(10)
    assert server.handed == 1
    assert not body.has_arrived

    assert body.read() == b"".join(message["body"] for message in sent)


def test_a_small_body_has_arrived_before_its_reader_is_called(body_of):
    body, _ = body_of(part(b"a"), part(b"", more=False))
    asyncio.run_coroutine_threadsafe(body.receive_first_bytes(Gathering()), body.loop).result(10)
    assert body.has_arrived
    assert body.read() == b"a"


def test_a_body_whose_beginning_does_not_come_is_an_error(body_of, settings):
    settings.CLIENT_TIMEOUT = 0.05
    body, _ = body_of(part(b"a"))
    asyncio.run_coroutine_threadsafe(body.receive_first_bytes(Gathering()), body.loop).result(10)
    assert not body.has_arrived

    with pytest.raises(TooSlow):
        body.read1(100)


def test_nothing_is_taken_any_more_once_it_is_closed(body_of):
    body, server = body_of(part(b"a"))
    assert body.read1(100) == b"a"
    asyncio.run_coroutine_threadsafe(body.close(), body.loop).result(10)
    assert server.is_cancelled.wait(10)


class Coming:
    """A message to come, as granian promises it: it calls back through the loop, from its own thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.callback: Callable[..., Any] | None = None
        self.message: dict[str, Any] = {}

    def add_done_callback(self, callback: Callable[..., Any]) -> None:
        self.callback = callback

    def come(self, message: dict[str, Any]) -> None:
        self.message = message
        self.loop.call_soon_threadsafe(self.callback, self)  # type: ignore[arg-type]  # there by now

    def result(self) -> dict[str, Any]:
        return self.message

    def cancel(self) -> None:
        """Nobody waits any more."""


def test_the_messages_of_granian_are_no_coroutines_and_come_in_order() -> None:
    loop, sent, asked = asyncio.new_event_loop(), frames(40), Queue[Coming]()

    def receive() -> Coming:
        coming = Coming(loop)
        asked.put(coming)
        return coming

    def serve() -> None:
        for message in sent:
            coming = asked.get(timeout=10)
            while coming.callback is None:
                time.sleep(0.001)
            coming.come(message)

    running, server = threading.Thread(target=loop.run_forever), threading.Thread(target=serve)
    running.start()
    server.start()
    body = RequestBody(loop, Sender(receive))  # type: ignore[arg-type]  # a2wsgi types each message
    read = body.read()
    asyncio.run_coroutine_threadsafe(body.close(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    for thread in (running, server):
        thread.join(10)
    loop.close()

    assert read == b"".join(message["body"] for message in sent)
