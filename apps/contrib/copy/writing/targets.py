"""The targets of a copy: a folder of this host, or a bucket."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from django.utils.module_loading import import_string

from apps.contrib.copy.tree.documents import Content, Stored
from apps.contrib.copy.tree.folders import Folder

File = tuple[str, Content]


class Target(Protocol):
    """Every method raises StorageUnavailable where the copy's storage is away, refuses, or is full.

    Callers give at most `at_once` files to a call.
    """

    at_once: int

    def held(self) -> Any:
        """A context in which no other writer of this host writes. Raises Busy."""

    def put(self, files: Sequence[File], *, is_last: bool = True) -> None:
        """Write files. They are durable before the next batch appears; the last one is when this returns."""

    def remove(self, paths: Sequence[str], *, is_last: bool = True) -> None:
        """Remove files, which need not be there. Durable as those of `put`."""

    def stored(self, path: str) -> Stored | None:
        """Read the file, and return what it has."""

    def paths(self) -> Iterator[str]:
        """Yield the path of every file below `public/` and `private/`."""

    def size(self, path: str) -> int | None:
        """Return how many bytes a file has; None if there is none."""

    def read(self, path: str, start: int, stop: int | None) -> Iterator[bytes]:
        """Yield the bytes from `start` up to `stop`. Raises Missing."""


def at(url: str) -> Target:
    if urlsplit(url).scheme == "file":
        return Folder(Path(unquote(urlsplit(url).path)))
    bucket: Target = import_string("apps.contrib.copy.writing.bucket.Bucket")(url)  # boto3 costs 0.3 s and 20 MB
    return bucket
