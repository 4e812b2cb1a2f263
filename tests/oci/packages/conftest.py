"""Clients that pull and push packages."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.oci.manifests.documents import Repo, code_of
from tests.oci.packages.samples import NAME, RAW, ZIP


@pytest.fixture
def pusher(repo: Callable[..., Repo]) -> Callable[..., Repo]:
    """The client that pushes."""
    return repo


@pytest.fixture
def anybody(tofu: Callable[..., Client], pantry: Any) -> Repo:
    """A client that pulls from the public namespace without a token."""
    return Repo(tofu(), NAME)


@pytest.fixture
def push(pusher: Callable[..., Repo], work: Callable[[], None]) -> Callable[..., Any]:
    """`push(raw, tag, archive)`: the answer of the second push, when a worker has looked at it."""

    def pushed(raw: bytes = RAW, tag: str = "1.2.0", archive: bytes = ZIP, name: str = NAME, **more: Any) -> Any:
        one = pusher(name, **more)
        for data in (b"{}", archive):
            one.blob(data)
        first = one.put(raw, tag)
        if first.status_code != 503:
            return first
        assert code_of(first) == (503, "UNAVAILABLE")
        assert first.headers["Retry-After"]
        work()
        return one.put(raw, tag)

    return pushed
