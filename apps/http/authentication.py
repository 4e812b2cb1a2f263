"""API tokens on HTTP requests."""

import base64
import binascii

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.identity import sign_ins, token_usage, tokens
from apps.accounts.models import ApiToken, User


class TokenAuthentication(BaseAuthentication):
    """Accepts `Bearer <token>` (RFC 6750) and `Basic` with any name and the token as password (RFC 7617, for .netrc).

    Without a header the request is anonymous. A header without a usable token fails, even for public namespaces:
    otherwise an expired token would go unnoticed until something private is requested.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "").strip()
        if not header:
            return None
        secret = secret_in(header)
        try:
            token = tokens.identify(secret)
        except tokens.TokenRefused as refused:
            raise AuthenticationFailed(f"{refused} {refused.hint}") from None
        record_use(token, request)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002
        """Return the challenge; without one REST framework would answer 403 instead of 401."""
        return 'Bearer realm="Larder"'


def secret_in(authorization: str) -> str:
    """Return the secret of an Authorization header, whatever it opens. Raises AuthenticationFailed."""
    scheme, _, value = authorization.partition(" ")
    secret = value.strip()
    if scheme.lower() == "bearer":
        return secret
    if scheme.lower() != "basic":
        raise AuthenticationFailed(
            "This Authorization scheme is not supported. Send `Bearer <token>`, or Basic with the token as password."
        )
    try:
        return base64.b64decode(secret, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        raise AuthenticationFailed(
            "The Basic credentials cannot be read. Send any name, and an API token as the password."
        ) from None


def record_use(token: ApiToken, request: Request) -> None:
    agent, address = request.META.get("HTTP_USER_AGENT", ""), sign_ins.address_of(request)
    token_usage.record_use(token, agent=agent, address=address)


def viewer_of(request: Request) -> Viewer:
    """Return the viewer of a machine's request, by token only: cookies do not count.

    A call within this process says who it is.
    """
    if isinstance(request.auth, Viewer):
        return request.auth
    if isinstance(request.auth, ApiToken):
        return Viewer(user=request.auth.user, token=request.auth)
    return NOBODY
