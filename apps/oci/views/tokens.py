"""/v2/, where clients ask how to authenticate, and the token service /v2/token.

https://distribution.github.io/distribution/spec/auth/token/ and its OAuth2 sibling. An API token is exchanged for a
short-lived one of the same person, and no API token for an anonymous one; both are good for what was asked for.
"""

from django.conf import settings
from django.urls import path
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.identity import tokens
from apps.accounts.identity.sign_ins import count_wrong_secret
from apps.accounts.models import ApiToken
from apps.audit import generation
from apps.http import ready
from apps.http.authentication import TokenAuthentication, record_use
from apps.http.views import fields_of, read_form
from apps.lib.errors import CredentialsRequired, Invalid
from apps.oci import registry_tokens
from apps.oci.base import OciView

# The field with the API token, by grant type.
_SECRETS = {"refresh_token": "refresh_token", "password": "password"}


class Ping(OciView):
    """end-1. Always a challenge without credentials: otherwise skopeo and crane never authenticate."""

    http_method_names = ["get", "head"]

    def get(self, request: Request) -> Response:  # noqa: ARG002
        if not self.caller.has_token:
            raise CredentialsRequired("Ask the token service for a token; an anonymous one reads public repositories.")
        return Response({})


class Token(OciView):
    """Takes API tokens only: a registry token cannot renew itself."""

    http_method_names = ["get", "head", "post"]
    authentication_classes = [TokenAuthentication]

    def get(self, request: Request) -> Response:
        asked = fields_of(request.META.get("QUERY_STRING", ""))
        return _answer(request.auth if isinstance(request.auth, ApiToken) else None, asked.get("scope"))

    def post(self, request: Request) -> Response:
        form = read_form(request)
        token = tokens.identify(secret_of(form))
        record_use(token, request)
        return _answer(token, form.get("scope"))

    def handle_exception(self, exc: Exception) -> Response:
        """Count wrong passwords only: 130 right ones at once are a busy CI, and clients give up at the first 429."""
        is_wrong = isinstance(exc, AuthenticationFailed | CredentialsRequired)
        refusal = count_wrong_secret(self.request) if is_wrong else None
        return super().handle_exception(refusal or exc)

    def challenge(self, error: Exception) -> str:  # noqa: ARG002
        return f'Basic realm="{settings.PUBLIC_HOST}"'  # a Bearer one would send clients here again


def secret_of(form: dict[str, list[str]]) -> str:
    """Return the API token of a request by POST. Raises Invalid."""
    grant = form.get("grant_type", [""])[0]
    if grant not in _SECRETS:
        raise Invalid(f"grant_type is {grant[:40]!r}.", hint=f"Send {' or '.join(_SECRETS)}.")
    return form.get(_SECRETS[grant], [""])[0]


def _answer(token: ApiToken | None, asked: list[str] | None) -> Response:
    document = registry_tokens.document_for(token.pk if token else None, asked)
    response = Response(document, headers={"Cache-Control": "no-store"})
    if token is not None:
        seconds = (token.expires_at - timezone.now()).total_seconds()
        source = ready.SourceToken(token.digest, token.pk)
        ready.mark(response, ready.Ready({generation.ACCESS}, 0.0, credentials_for=seconds, source_token=source))
    return response


urlpatterns = [path("token", Token.as_view(), name="token")]
