"""Authenticates requests under /v2/ by API tokens and by tokens of /v2/token, which may be anonymous."""

from dataclasses import dataclass
from typing import Self

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import ApiToken, User
from apps.http.authentication import TokenAuthentication, record_use, viewer_of
from apps.lib.errors import CredentialsRequired
from apps.oci import registry_tokens


@dataclass(frozen=True, slots=True)
class Caller:
    """`has_token`: also true for an anonymous one. Without a token, a refusal is a challenge (D8).

    `scopes`: what a token of /v2/token was granted. None: an API token, whose rights alone decide.
    """

    viewer: Viewer = NOBODY
    has_token: bool = False
    scopes: registry_tokens.Scopes | None = None

    @classmethod
    def of(cls, request: Request) -> Self:
        auth = request.auth
        if auth is None:
            return cls()
        if isinstance(auth, registry_tokens.Granted):
            viewer = Viewer(user=auth.token.user, token=auth.token) if auth.token else NOBODY
            return cls(viewer, has_token=True, scopes=auth.scopes)
        return cls(viewer_of(request), has_token=True)

    def may(self, name: str, actions: str) -> bool:
        """Return whether the token covers the actions on the repository; whether its person may is another question."""
        return self.scopes is None or self.scopes.cover(name, actions)

    def require(self, name: str, actions: str) -> None:
        """Raises CredentialsRequired, which becomes a challenge."""
        if not self.may(name, actions):
            raise CredentialsRequired(
                f"This registry token was not granted {actions} on {name}.",
                hint="Ask /v2/token for the scope in WWW-Authenticate, as clients do.",
            )


class RegistryAuthentication(BaseAuthentication):
    """Everything that TokenAuthentication takes, and the tokens of /v2/token."""

    def authenticate(self, request: Request) -> tuple[User | None, ApiToken | registry_tokens.Granted] | None:
        scheme, _, value = request.META.get("HTTP_AUTHORIZATION", "").strip().partition(" ")
        if scheme.lower() == "bearer" and registry_tokens.is_ours(value.strip()):
            granted = registry_tokens.read(value.strip())
            if granted.token is None:
                return None, granted
            record_use(granted.token, request)
            return granted.token.user, granted
        return TokenAuthentication().authenticate(request)

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002
        return "Bearer"  # its presence makes REST framework answer 401; the view writes the real challenge
