import pytest

from apps.contrib.git import syncing


@pytest.fixture
def listened(monkeypatch):
    """The repositories of which the tags are to be listed."""
    found: list[object] = []
    monkeypatch.setattr(syncing, "listen", found.append)
    return found
