"""Faults of the test registry on command: `registry.misbehave("*.zip", faults.truncated())`.

A fault is a function of the exchange and the answer that would be right. `misbehaving.py` has the server.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, Protocol

PIECE = 16 * 1024


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Exchange(Protocol):
    """One request, of which nothing has been answered yet."""

    path: str  # decoded, without its query
    over: Event  # set when the server stops: what hangs ends then

    def send(self, answer: Answer) -> None:
        """Answer as a good server does, with Content-Length and to HEAD and Range."""

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status and headers as they are."""

    def write(self, data: bytes) -> None:
        """Send these bytes now. Raises OSError once the client has gone."""


Fault = Callable[[Exchange, Answer], None]


def says(status: int, body: bytes = b"", **headers: str) -> Fault:
    """Answer with this status: `says(429, Retry_After="7")`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda exchange, _: exchange.send(Answer(status, body, named))


def changed(edit: Callable[[bytes], bytes]) -> Fault:
    """Send the right answer with an edited body, of which nothing else knows."""
    return lambda exchange, answer: exchange.send(replace(answer, body=edit(answer.body)))


def changed_json(edit: Callable[[Any], Any]) -> Fault:
    """`edit` gets the parsed document and returns another one, or changes it and returns None."""

    def edited(body: bytes) -> bytes:
        document = json.loads(body)
        found = edit(document)
        return json.dumps(document if found is None else found).encode()

    return changed(edited)


def wrong_bytes() -> Fault:
    """Same length, one bit differs: only the digest tells."""
    return changed(lambda body: body[:-1] + bytes([body[-1] ^ 1]))


def wrong_digest() -> Fault:
    """For a download document: its `shasum` is that of other bytes."""
    return changed_json(lambda document: document | {"shasum": "0" * 64})


def wrong_shape(document: Any = None) -> Fault:
    """Valid JSON that is not the object of the protocol; a list of nothing by default."""
    return says(200, json.dumps([] if document is None else document).encode(), Content_Type="application/json")


def truncated(part: float = 0.5) -> Fault:
    """Promise the whole length, send a part of it, and close the connection."""

    def run(exchange: Exchange, answer: Answer) -> None:
        exchange.begin(answer.status, {**answer.headers, "Content-Length": str(len(answer.body))})
        exchange.write(answer.body[: int(len(answer.body) * part)])

    return run


def endless(piece: bytes = bytes(PIECE), **headers: str) -> Fault:
    """Never end, and promise no length; `Content_Length="7"` promises one."""

    def run(exchange: Exchange, answer: Answer) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        exchange.begin(200, {**answer.headers, **named})
        while not exchange.over.is_set():
            exchange.write(piece)

    return run


def slow(bytes_per_second: float, *, every: float = 0.05) -> Fault:
    """Send the right answer at this rate."""

    def run(exchange: Exchange, answer: Answer) -> None:
        exchange.begin(answer.status, {**answer.headers, "Content-Length": str(len(answer.body))})
        step = max(1, int(bytes_per_second * every))
        for at in range(0, len(answer.body), step):
            exchange.write(answer.body[at : at + step])
            if exchange.over.wait(every):
                return

    return run


def late(seconds: float) -> Fault:
    """Answer right, but only after a while."""

    def run(exchange: Exchange, answer: Answer) -> None:
        if not exchange.over.wait(seconds):
            exchange.send(answer)

    return run


def hangs() -> Fault:
    """Accept the request, and send nothing."""
    return lambda exchange, _: _wait(exchange)


def hangs_in_headers() -> Fault:
    """Send the status and one header after another, without end."""

    def run(exchange: Exchange, _: Answer) -> None:
        exchange.write(b"HTTP/1.1 200 OK\r\n")
        while not exchange.over.wait(0.05):
            exchange.write(b"X-Wait: 1\r\n")

    return run


def hangs_after_headers() -> Fault:
    """Send status, headers and the first byte, and nothing more."""

    def run(exchange: Exchange, answer: Answer) -> None:
        exchange.begin(answer.status, {**answer.headers, "Content-Length": str(len(answer.body))})
        exchange.write(answer.body[:1])
        _wait(exchange)

    return run


def redirects(location: str, status: int = 302) -> Fault:
    return says(status, Location=location)


def loops(status: int = 302) -> Fault:
    """Redirect to the same path for ever."""
    return lambda exchange, _: exchange.send(Answer(status, b"", {"Location": exchange.path}))


def huge_json(size: int = 200 * 1024 * 1024) -> Fault:
    """A valid object of this many bytes, made while it is sent."""

    def run(exchange: Exchange, _: Answer) -> None:
        exchange.begin(200, {"Content-Type": "application/json", "Content-Length": str(size)})
        head, tail = b'{"versions": "', b'"}'
        exchange.write(head)
        left = size - len(head) - len(tail)
        while left and not exchange.over.is_set():
            exchange.write(b"x" * min(left, PIECE))
            left -= min(left, PIECE)
        exchange.write(tail)

    return run


def deep_json(depth: int = 100_000) -> Fault:
    """A small document that no parser with a stack survives."""
    return says(200, b'{"a":' * depth + b"1" + b"}" * depth, Content_Type="application/json")


def _wait(exchange: Exchange) -> None:
    """Until the server stops, or for a minute."""
    end = time.monotonic() + 60
    while not exchange.over.wait(0.05) and time.monotonic() < end:
        pass
