"""LARDER_TRUSTED_ISSUERS: further issuers of id tokens of CI, beside those that Larder knows."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from apps.lib.errors import Invalid
from apps.lib.settings_values.identity_providers import MAX_ISSUER_LENGTH, is_safe


def read(env: Any) -> tuple[str, ...]:
    """Read them by the readers of variables, which a room below the settings is given."""
    name = "LARDER_TRUSTED_ISSUERS"
    with env.stopping(name):
        return parse_all(env.words(name))


def parse_all(words: Iterable[str]) -> tuple[str, ...]:
    """Read issuers such as https://gitlab.acme.example, as their tokens write them. Raises Invalid."""
    found = tuple(dict.fromkeys(words))
    for issuer in found:
        if not is_safe(issuer, loopback=True) or len(issuer) > MAX_ISSUER_LENGTH or urlsplit(issuer).query:
            raise Invalid(
                f"{issuer[:MAX_ISSUER_LENGTH]!r} is not an issuer: expected an https: URL without a query, of at most "
                f"{MAX_ISSUER_LENGTH} characters (http: only on loopback addresses).",
                hint="Copy it from the claim iss of an id token.",
            )
    return found
