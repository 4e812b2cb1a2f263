"""Small bodies on their way: counted, timed, and together never more than what is set aside for them."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from apps.lib.errors import TooLarge, Unavailable
from apps.lib.net.bodies import Disconnected, TooSlow
from registry_site.server import request_body
from registry_site.server.request_body import EACH, Gathering, Sender


class Client:
    """Its messages come when the test lets them."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self.queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        for message in messages:
            self.queue.put_nowait(message)

    def send(self, data: bytes, *, more: bool = True) -> None:
        self.queue.put_nowait({"type": "http.request", "body": data, "more_body": more})

    @property
    def sender(self) -> Sender:
        return Sender(self.queue.get)  # type: ignore[arg-type]  # a2wsgi types each message


async def gathered(gathering: Gathering, client: Client, *, limit: int = 1000) -> bytes:
    with gathering.place() as place:
        return await gathering.body(client.sender, place, limit=limit)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


def test_a_body_is_whole_and_leaves_its_place() -> None:
    async def work() -> None:
        gathering, client = Gathering(), Client()
        client.send(b"one ")
        client.send(b"two", more=False)
        assert await gathered(gathering, client) == b"one two"
        assert gathering._size == 0

    run(work())


def test_it_is_refused_as_soon_as_it_is_too_large() -> None:
    async def work() -> None:
        client = Client()
        client.send(b"x" * 600)
        client.send(b"x" * 600)
        gathering = Gathering()
        with gathering.place() as place:
            with pytest.raises(TooLarge, match="json_max_bytes of LARDER_LIMITS"):
                await gathering.body(client.sender, place, limit=1000)
            assert gathering._size == 0, "what is refused takes no memory while it is answered"

    run(work())


def test_who_leaves_is_gone() -> None:
    async def work() -> None:
        with pytest.raises(Disconnected):
            await gathered(Gathering(), Client({"type": "http.disconnect"}))

    run(work())


def test_silence_and_a_trickle_are_too_slow(settings: Any) -> None:
    settings.CLIENT_TIMEOUT = 0.2

    async def work() -> None:
        with pytest.raises(TooSlow):
            await gathered(Gathering(), Client())
        client = Client()

        async def trickle() -> None:
            while True:
                client.send(b"x")
                await asyncio.sleep(0.02)

        trickling = asyncio.create_task(trickle())
        with pytest.raises(TooSlow):
            await gathered(Gathering(), client)
        trickling.cancel()

    run(work())


def test_an_upload_is_too_slow_below_the_rate_and_not_above(settings: Any) -> None:
    settings.CLIENT_TIMEOUT = 0.1

    def sender_of(size: int) -> Sender:
        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0.02)
            return {"type": "http.request", "body": b"x" * size, "more_body": True}

        return Sender(receive)  # type: ignore[arg-type]  # a2wsgi types each message

    async def read(sender: Sender) -> None:
        for _ in range(20):
            assert await sender.next()

    async def work() -> None:
        slow, steady = sender_of(1), sender_of(settings.CLIENT_MIN_RATE)
        await read(steady)
        with pytest.raises(TooSlow):
            await read(slow)

    run(work())


def test_where_the_memory_is_full_the_oldest_that_still_comes_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "MEMORY", 3 * EACH + 500)

    async def work() -> None:
        gathering = Gathering()
        slow = [Client() for _ in range(3)]
        waiting = []
        for client in slow:
            waiting.append(asyncio.create_task(gathered(gathering, client)))
            await asyncio.sleep(0)
        honest = Client()
        honest.send(b"quick", more=False)

        assert await gathered(gathering, honest) == b"quick"
        with pytest.raises(Unavailable):
            await waiting[0]
        slow[1].send(b"y" * 600)  # its own bytes count as well
        with pytest.raises(Unavailable):
            await waiting[1]
        slow[2].send(b"at last", more=False)
        assert await waiting[2] == b"at last"
        assert gathering._size == 0

    run(work())
