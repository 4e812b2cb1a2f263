"""Read an id token: its three parts, before anything is known to be true. Raises Invalid for what is none."""

import binascii
import json
from base64 import b64decode
from dataclasses import dataclass
from typing import Any

from apps.lib.errors import Invalid, TooLarge

# The claims of real tokens take 1 to 3 KB.
MAX_CHARACTERS = 16_384
MAX_CLAIMS = 100
_HINT = "Send the id token that your CI issued, three parts with dots between them."


@dataclass(frozen=True, slots=True)
class Read:
    """`signed` is what the signature covers."""

    text: str
    header: dict[str, Any]
    claims: dict[str, Any]

    @property
    def signed(self) -> str:
        return self.text.rpartition(".")[0]

    @property
    def issuer(self) -> str:
        found = self.claims.get("iss")
        return found if isinstance(found, str) else ""


def read(text: str) -> Read:
    """Raises Invalid or TooLarge."""
    if len(text) > MAX_CHARACTERS:
        raise TooLarge(
            f"The id token has {len(text):,} characters, expected at most {MAX_CHARACTERS:,}.",
            hint="Ask for a token with fewer claims.",
        )
    parts = text.split(".")
    if len(parts) != 3 or not all(parts):  # noqa: PLR2004  # header, claims, signature
        raise Invalid(f"The id token has {len(parts)} parts, expected a header, claims and a signature.", hint=_HINT)
    header, claims = _object(parts[0], "header"), _object(parts[1], "claims")
    if len(claims) > MAX_CLAIMS:
        raise Invalid(f"The id token has {len(claims)} claims, expected at most {MAX_CLAIMS}.", hint=_HINT)
    return Read(text, header, claims)


def _object(part: str, what: str) -> dict[str, Any]:
    try:
        found = json.loads(b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Invalid(f"The {what} of the id token cannot be read, expected a JSON object in base64.", hint=_HINT)
    return found
