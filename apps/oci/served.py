"""A manifest on its way to a client: a pushed one, or one that is made from a release."""

from dataclasses import dataclass

from apps.releases.models import Release


@dataclass(frozen=True, slots=True)
class Served:
    """`raw` may be empty where nobody asked for the bytes (HEAD); then `size` says how many there are.

    `digest` is the one under which it was found, so sha512 where that was asked for. `release` is set where the
    manifest stands for a published version: its download is noted, its deprecation becomes a warning.
    """

    raw: bytes
    digest: str
    media_type: str
    release: Release | None = None
    size: int | None = None

    @property
    def length(self) -> int:
        return len(self.raw) if self.size is None else self.size
