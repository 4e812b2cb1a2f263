from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.builders.outages import database_away

__all__ = ["database_away"]


class Untouchable:
    """A body that nobody may read."""

    def read(self, *_: Any) -> bytes:
        raise AssertionError("a byte of the body was read")

    readline = read


class Endless:
    """A chunked body of a size that nobody announced."""

    def __init__(self, size: int) -> None:
        self.left = size

    def read(self, size: int = -1) -> bytes:
        step = self.left if size < 0 else min(size, self.left)
        self.left -= step
        return b"x" * step

    readline = read


@pytest.fixture
def untouchable() -> dict[str, Any]:
    """Keyword arguments for the test client: `client.put(url, **untouchable)`."""
    return {"wsgi.input": Untouchable(), "CONTENT_LENGTH": "1000"}


@pytest.fixture
def endless() -> Callable[[int], dict[str, Any]]:
    return lambda size: {"wsgi.input": Endless(size), "wsgi.input_terminated": True, "CONTENT_LENGTH": ""}


@pytest.fixture
def upload() -> Callable[..., Any]:
    """The request of `curl --upload-file`."""

    def put(client: Client, url: str, data: bytes, **more: Any) -> Any:
        return client.generic("PUT", url, data, content_type="application/octet-stream", **more)

    return put
