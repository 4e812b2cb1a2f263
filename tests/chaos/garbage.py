"""Bytes that no client means to send, to every route of a running stack: as they come off the wire, by a seed."""

import asyncio
import random
import re
import ssl
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.builders.archives import module_zip
from tests.house.fuzzing.hostile import BODIES, HEADERS, RAW, TEXTS
from tests.house.fuzzing.requests import METHODS, quoted
from tests.house.routes import all_routes

NAMESPACE = "garbage"
AT_ONCE = 16
# Of those that a client may wait long for: it promised more than it sends.
UNFINISHED = ("CONTENT_LENGTH", "HTTP_TRANSFER_ENCODING")
PATIENCE, SHORT = 90.0, 2.0
NO_ANSWER = 0


def mutant(data: bytes, dice: random.Random) -> bytes:
    """A few bytes changed, a piece cut out, doubled, or the end lost."""
    broken = bytearray(data)
    for _ in range(dice.randint(1, 6)):
        position = dice.randrange(max(len(broken), 1))
        match dice.randrange(4):
            case 0:
                broken[position : position + 1] = [dice.randrange(256)]
            case 1:
                del broken[position : position + dice.randint(1, 40)]
            case 2:
                broken[position:position] = broken[position : position + dice.randint(1, 40)]
            case 3:
                del broken[max(position, 1) :]
    return bytes(broken)


@dataclass
class Garbage:
    ports: Sequence[int]
    token: str
    chance: random.Random
    tls: ssl.SSLContext | None = None
    answers: Counter[int] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)  # what was answered with a 5xx
    number: int = 0

    def send(self, count: int) -> None:
        """A tenth are uploads of damaged archives, a tenth are no HTTP, the rest are bad requests."""
        asyncio.run(self._send(count))

    async def _send(self, count: int) -> None:
        gate = asyncio.Semaphore(AT_ONCE)

        async def one() -> None:
            async with gate:
                raw, patience = self._made()
                status = await self._ask(raw, patience)
                self.answers[status] += 1
                if status >= 500:
                    self.broken.append(f"{status} to {raw[:300]!r}")

        await asyncio.gather(*(one() for _ in range(count)))

    def _made(self) -> tuple[bytes, float]:
        self.number += 1
        if self.number % 10 == 0:
            body = mutant(module_zip(comment=str(self.number).encode()), self.chance)
            path = f"/api/v1/modules/{NAMESPACE}/zip/local/1.0.{self.number}"
            return self._written("PUT", path, {"Authorization": f"Bearer {self.token}"}, body), PATIENCE
        if self.number % 10 == 1:
            return self.chance.randbytes(self.chance.randrange(1, 2000)), SHORT
        return self._request()

    def _request(self) -> tuple[bytes, float]:
        route = self.chance.choice(ROUTES)
        path = re.sub(r"<[^>]+>", lambda _: self._text(), f"/{route}")
        if self.chance.random() < 0.5:
            path += f"?{self._text()}={self._text()}"
        headers = {"Authorization": f"Bearer {self.token}"} if self.chance.random() < 0.7 else {}
        name = self.chance.choice(list(HEADERS))
        headers[name.removeprefix("HTTP_").replace("_", "-").title()] = self.chance.choice(HEADERS[name])
        body = self.chance.choice(BODIES)
        raw = self._written(self.chance.choice(METHODS), path, headers, body)
        return raw, SHORT if name in UNFINISHED else PATIENCE

    def _text(self) -> str:
        if self.chance.random() < 0.3:
            return NAMESPACE
        return self.chance.choice(RAW) if self.chance.random() < 0.3 else quoted(self.chance.choice(TEXTS))

    def _written(self, method: str, path: str, headers: dict[str, str], body: bytes) -> bytes:
        fields = {"Host": "127.0.0.1", "Connection": "close", "Content-Length": str(len(body))} | headers
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in fields.items())]
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body

    async def _ask(self, raw: bytes, patience: float) -> int:
        """The status; 0 if the server closed the connection without an answer, or the client went."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.chance.choice(self.ports), ssl=self.tls)
        except OSError:
            return NO_ANSWER
        try:
            async with asyncio.timeout(patience):
                writer.write(raw)
                first = await reader.readline()
                await reader.read()
        except TimeoutError:
            assert patience == SHORT, f"no answer within {PATIENCE} s to {raw[:300]!r}"
            return NO_ANSWER
        except OSError:
            return NO_ANSWER
        finally:
            writer.transport.abort()
        found = re.match(rb"HTTP/1\.[01] (\d{3})", first)
        return int(found[1]) if found else NO_ANSWER


# Regular expressions, which the admin's library has, are no paths.
ROUTES = [route.pattern for route in all_routes() if "(" not in route.pattern]
