"""publish.sh, which CI downloads: each version that a Larder has served, because pipelines name one by its digest."""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.urls import reverse

FOLDER = Path(__file__).with_name("publish_scripts")


@dataclass(frozen=True, slots=True)
class Script:
    version: int
    body: bytes
    digest: str

    @property
    def path(self) -> str:
        """The address whose content never changes."""
        return reverse("portal:publish-script-pinned", args=[self.digest])

    @property
    def url(self) -> str:
        return f"{settings.PUBLIC_URL}{self.path}"


@cache
def scripts() -> tuple[Script, ...]:
    """The newest first."""
    bodies = {int(file.stem): file.read_bytes() for file in FOLDER.glob("*.sh")}
    return tuple(
        Script(version, body, hashlib.sha256(body).hexdigest())
        for version, body in sorted(bodies.items(), reverse=True)
    )


def newest() -> Script:
    return scripts()[0]


def with_digest(digest: str) -> Script | None:
    return next((script for script in scripts() if script.digest == digest), None)
