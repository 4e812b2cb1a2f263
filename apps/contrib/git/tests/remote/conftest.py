import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.contrib.git.remote.access import GitFailed, Limits
from tests.builders.git_servers import Site, git_site
from tests.needs import needs


@pytest.fixture
def confinement() -> None:
    """That of production."""


@pytest.fixture
@needs("git")
def site(tmp_path) -> Iterator[Site]:
    with git_site(tmp_path / "site") as started:
        yield started


@pytest.fixture
@needs("git")
def trap(tmp_path) -> Iterator[Site]:
    """A server that nobody may ask."""
    with git_site(tmp_path / "trap", https=False) as started:
        yield started


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path, monkeypatch) -> Path:
    """The folder in which a fetch leaves its files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def limits() -> Limits:
    return Limits(seconds=60)  # of a busy machine


@pytest.fixture
def refusal():
    """`refusal(function, …)` returns the GitFailed, whose text and hint are sentences."""

    def refused(function, *words, **named) -> GitFailed:
        with pytest.raises(GitFailed) as caught:
            function(*words, **named)
        assert str(caught.value)[0].isupper() or str(caught.value)[0].isalnum()
        return caught.value

    return refused


@pytest.fixture
def names(monkeypatch):
    """`names(**{"git.acme.example": "127.0.0.1"})`: what this process resolves. Its children do not know it."""
    real = socket.getaddrinfo

    def to(**known):
        def getaddrinfo(host, *more, **named):
            return real(known.get(host, host), *more, **named)

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    return to
