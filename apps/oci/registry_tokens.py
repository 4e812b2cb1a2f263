"""Tokens of the token service: signed, short-lived, opaque to clients.

They carry who asked and the scopes that were granted. A request needs both: a scope that covers it, and the rights of
its person at that moment (oci.md 3.4). https://distribution.github.io/distribution/spec/auth/scope/
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from django.core import signing
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed

from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken
from apps.artifacts import names

# What may be granted on a repository, in the order in which it is written.
ACTIONS = ("pull", "push", "delete")
CATALOG = "registry:catalog:*"
# A client asks for one, or for two to mount a blob. The token is sent in a header.
_MAX_REPOSITORIES = 20

LIFETIME = timedelta(hours=1)
_PREFIX = "lrr_"
_SALT = "larder.oci.registry-token.v2"


@dataclass(frozen=True, slots=True)
class Scopes:
    """The permissions of a token: actions by the name of a repository, and whether it lists all repositories."""

    actions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    catalog: bool = False

    @classmethod
    def parse(cls, asked: Iterable[str]) -> Self:
        """Read the parameters `scope`, each of which may hold several. What is no scope that is known grants nothing,
        and no name beyond the first 20 does: granting less than was asked for is no error.
        """
        actions: dict[str, frozenset[str]] = {}
        catalog = False
        for scope in " ".join(asked).split():
            kind, _, rest = scope.partition(":")
            name, _, wanted = rest.rpartition(":")
            found = frozenset(ACTIONS if wanted == "*" else wanted.split(",")).intersection(ACTIONS)
            catalog = catalog or scope == CATALOG
            is_one_more = name in actions or len(actions) < _MAX_REPOSITORIES
            if kind == "repository" and found and names.is_name(name) and is_one_more:
                actions[name] = actions.get(name, frozenset()) | found
        return cls(actions, catalog)

    def __str__(self) -> str:
        written = {name: ",".join(one for one in ACTIONS if one in found) for name, found in self.actions.items()}
        scopes = [f"repository:{name}:{actions}" for name, actions in written.items()]
        return " ".join([*scopes, CATALOG] if self.catalog else scopes)

    def cover(self, name: str, actions: str) -> bool:
        """Return whether all the actions, separated by commas, are granted on the repository."""
        return self.actions.get(name, frozenset()).issuperset(actions.split(","))


NOTHING = Scopes()


@dataclass(frozen=True, slots=True)
class Granted:
    """A token that was accepted. `token` is the API token behind it; None: anonymous, enough for public namespaces."""

    token: ApiToken | None
    scopes: Scopes


def issue(number: int | None, scopes: Scopes = NOTHING) -> str:
    """Issue a token for the API token of that number, or an anonymous one."""
    return _PREFIX + signing.dumps([number, str(scopes)], salt=_SALT)


def document_for(number: int | None, asked: list[str] | None) -> dict[str, Any]:
    """Return the answer of the token service to a client that has shown the API token of that number, or none. Without
    the database.

    The same for all names: rights are checked when they are used, so the answer reveals none.
    """
    scopes = Scopes.parse(asked or [])
    issued = issue(number, scopes)
    document: dict[str, Any] = {
        "token": issued,
        "access_token": issued,
        "token_type": "Bearer",
        "expires_in": int(LIFETIME.total_seconds()),
        "issued_at": timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return document if asked is None else document | {"scope": str(scopes)}


def is_ours(text: str) -> bool:
    return text.startswith(_PREFIX)


def content_of(text: str) -> tuple[int | None, Scopes]:
    """Return the number of the API token behind it, None if it is anonymous. Raises AuthenticationFailed."""
    try:
        number, said = signing.loads(text.removeprefix(_PREFIX), salt=_SALT, max_age=LIFETIME)
    except signing.BadSignature:
        raise AuthenticationFailed("This registry token has expired or was changed.") from None
    return number, Scopes.parse([said])


def read(text: str) -> Granted:
    """Raises AuthenticationFailed if it, or the API token behind it, is no longer valid."""
    number, scopes = content_of(text)
    if number is None:
        return Granted(None, scopes)
    token = tokens.token_with_id(number)
    if token is None:
        raise AuthenticationFailed("The API token behind this registry token is no longer valid.")
    return Granted(token, scopes)


def end_of(authorization: str) -> datetime | None:
    """Return when the registry token of a request that was accepted ends; None if it sent another kind."""
    value = authorization.strip().partition(" ")[2].strip()
    if not is_ours(value):
        return None
    issued = signing.b62_decode(value.split(":")[-2])
    return datetime.fromtimestamp(issued, UTC) + LIFETIME
