"""A manifest as it is served, with the release behind it."""

from dataclasses import dataclass
from datetime import datetime

from apps.releases.catalogue.reading import advice_of
from apps.releases.models import Lifecycle, Release


@dataclass(frozen=True, slots=True)
class Served:
    """A manifest to send: `raw` byte for byte; empty with `size` where the bytes of a row were not asked for (HEAD).
    `is_download`: a GET of it (no HEAD) is one download of `release` (D15).
    """

    raw: bytes
    digest: str  # sha256:… or sha512:…, as it is addressed
    media_type: str
    release: Release | None = None
    is_download: bool = False
    size: int | None = None
    until: datetime | None = None  # then something else may be served under this name

    @property
    def length(self) -> int:
        return len(self.raw) if self.size is None else self.size

    @property
    def warning(self) -> str:
        """The text of `Warning: 299` (D9), ASCII in one line; empty unless deprecated."""
        release = self.release
        if release is None or release.lifecycle != Lifecycle.DEPRECATED:
            return ""
        return advice_of(release).encode("ascii", "replace").decode().replace("\\", "/").replace('"', "'")
