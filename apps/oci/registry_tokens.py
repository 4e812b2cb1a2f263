"""Tokens of the token service: signed, short-lived, opaque to clients.

They carry who asked, never what they may do: every request is decided by the rights of that moment (oci.md 3.4).
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.core import signing
from rest_framework.exceptions import AuthenticationFailed

from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken

LIFETIME = timedelta(hours=1)
_PREFIX = "lrr_"
_SALT = "larder.oci.registry-token.v1"


@dataclass(frozen=True, slots=True)
class Anonymous:
    """A token without a person: enough for public namespaces."""


def issue(token: ApiToken | None) -> str:
    return _PREFIX + signing.dumps(token.pk if token else None, salt=_SALT)


def is_ours(text: str) -> bool:
    return text.startswith(_PREFIX)


def read(text: str) -> ApiToken | Anonymous:
    """Return the API token behind it. Raises AuthenticationFailed if that is no longer valid."""
    try:
        number = signing.loads(text.removeprefix(_PREFIX), salt=_SALT, max_age=LIFETIME)
    except signing.BadSignature:
        raise AuthenticationFailed("This registry token has expired or was changed.") from None
    if number is None:
        return Anonymous()
    token = tokens.token_with_id(number)
    if token is None:
        raise AuthenticationFailed("The API token behind this registry token is no longer valid.")
    return token


def end_of(authorization: str) -> datetime | None:
    """Return when the registry token of a request that was accepted ends; None if it sent another kind."""
    value = authorization.strip().partition(" ")[2].strip()
    if not is_ours(value):
        return None
    issued = signing.b62_decode(value.split(":")[-2])
    return datetime.fromtimestamp(issued, UTC) + LIFETIME
