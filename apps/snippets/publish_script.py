"""publish.sh, which CI downloads: each version that a Larder has served, because pipelines name one by its digest."""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.urls import reverse

from apps.snippets import client_setup
from apps.snippets.client_setup import Snippet

CA_FILE = "larder-ca.pem"
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


def has_own_authority() -> bool:
    return client_setup.own_authority() is not None


def variables() -> dict[str, str]:
    """Return what the environment of the script names."""
    return {"LARDER_URL": settings.PUBLIC_URL, **({"LARDER_CA_FILE": CA_FILE} if has_own_authority() else {})}


def lines(address: str, version: str) -> list[str]:
    """Download, check, publish. `&&`: not each CI ends a step at the first command that fails."""
    script = newest()
    trust = f"--cacert {CA_FILE} " if has_own_authority() else ""
    return [
        f'curl {trust}-fsSo publish.sh "$LARDER_URL{script.path}"',
        f'echo "{script.digest}  publish.sh" | sha256sum -c &&',
        f"sh publish.sh {address} {version}",
    ]


def any_shell(address: str, version: str) -> Snippet:
    """With a stored token, or an id token that another CI has issued."""
    exports = [f"export {name}={value}" for name, value in variables().items()]
    return Snippet("Commands that publish", "\n".join([*exports, *lines(address, version)]))
