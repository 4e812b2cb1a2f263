from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.api.frame.base import ApiView
from tests.api import schema
from tests.builders.outages import database_away

__all__ = ["database_away"]


@pytest.fixture(autouse=True)
def as_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer of the API in these tests has a status and a shape that the schema gives it."""
    finalize = ApiView.finalize_response

    def compared(view: Any, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        answer = finalize(view, request, response, *args, **kwargs)
        operation = view.operation_of(request.method) if request.method != "HEAD" else None
        if operation:
            schema.compare(request.method, request.resolver_match.url_name, answer, operation)
        return answer

    monkeypatch.setattr(ApiView, "finalize_response", compared)


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


@pytest.fixture
def in_pages(
    monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> Callable[..., list[dict[str, Any]]]:
    """All rows of a list as its pages give them, a few rows on each, and few queries for each."""

    def read(client: Client, url: str, *, queries: int, size: int = 2) -> list[dict[str, Any]]:
        monkeypatch.setattr("apps.api.frame.base.PAGE_SIZE", size)
        rows: list[dict[str, Any]] = []
        while url:
            with django_assert_max_num_queries(queries):
                answer = client.get(url).json()
            url = answer.pop("next")
            [page] = answer.values()
            assert len(page) <= size
            rows += page
        return rows

    return read
