"""A static copy in a folder, and the steps of its writer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from apps.contrib.copy.settings_values import StaticCopy
from apps.contrib.copy.writing import following, writer
from apps.contrib.copy.writing.following import Follower
from apps.contrib.copy.writing.writer import Writer


@pytest.fixture
def tree(settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the copy is that follows. No job is rung for: a task of another kind would take it up first."""
    monkeypatch.setattr(following, "ring", lambda: None)
    settings.STATIC_COPY = StaticCopy(f"file://{tmp_path}/copy")
    settings.HOSTNAMES = frozenset({"registry.test"})
    return tmp_path / "copy"


def catch_up(own: Writer) -> None:
    """Write what is due, and seal it."""
    follower = Follower(own)
    while follower.step():
        pass
    own.seal(number=own.copy.generation)


@pytest.fixture
def follow(settings, db: None) -> Callable[[], Writer]:
    """Do what the job does for the changes of now."""

    def run() -> Writer:
        following.tick()
        with writer.opened(settings.STATIC_COPY.url) as own:
            catch_up(own)
        return own

    return run


@pytest.fixture
def files(tree: Path) -> Callable[..., list[str]]:
    """The files of a side of the tree."""

    def listed(side: str = "") -> list[str]:
        found = (path for path in (tree / side).rglob("*") if path.is_file() and ".writing" not in path.parts)
        return sorted(str(path.relative_to(tree / side)) for path in found)

    return listed
