"""Authenticates requests under /v2/ by API tokens and by tokens of /v2/token, which may be anonymous."""

from dataclasses import dataclass

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import ApiToken, User
from apps.http.authentication import TokenAuthentication, record_use
from apps.oci import registry_tokens


@dataclass(frozen=True, slots=True)
class Caller:
    """`has_token`: also true for an anonymous one. Without a token, a refusal is a challenge (D8)."""

    viewer: Viewer = NOBODY
    has_token: bool = False


class RegistryAuthentication(BaseAuthentication):
    """Everything that TokenAuthentication takes, and the tokens of /v2/token."""

    def authenticate(self, request: Request) -> tuple[User | None, ApiToken | registry_tokens.Anonymous] | None:
        scheme, _, value = request.META.get("HTTP_AUTHORIZATION", "").strip().partition(" ")
        if scheme.lower() == "bearer" and registry_tokens.is_ours(value.strip()):
            token = registry_tokens.read(value.strip())
            if not isinstance(token, ApiToken):
                return None, token
            record_use(token, request)
            return token.user, token
        return TokenAuthentication().authenticate(request)

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002
        return "Bearer"  # its presence makes REST framework answer 401; the view writes the real challenge
