"""Remote service discovery: https://opentofu.org/docs/internals/remote-service-discovery/

Clients ask once per process, with their token if they have one, and treat anything but 200 as a hard error without a
retry (404: "no services"). So this answers 200 to everyone, reads no token and does not touch the database.

And the token endpoint of `login.v1`; the page of its authorization endpoint is in the portal. See identity.cli_login.
"""

from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.urls import path, reverse
from django.views.decorators.debug import sensitive_variables
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.identity import cli_login
from apps.accounts.identity.sign_ins import address_of, count_wrong_secret
from apps.http.errors import oauth_dialect
from apps.http.views import MachineView, read_form
from apps.lib.errors import Invalid
from apps.protocol.base import ProtocolView

# Changes only with a new version of Larder.
MAX_AGE = 300
FORM = "application/x-www-form-urlencoded"


def discovery_document() -> dict[str, Any]:
    """Return the services of this registry, by the names that clients know."""
    return {
        "login.v1": {
            "client": cli_login.CLIENT_ID,
            "grant_types": ["authz_code"],
            "authz": reverse("portal:login-authorize"),
            "token": reverse("protocol:login-token"),
            "ports": [cli_login.FIRST_PORT, cli_login.LAST_PORT],
        },
        "modules.v1": reverse("protocol:modules"),
        "providers.v1": reverse("protocol:providers"),
    }


class Discovery(ProtocolView):
    """Only services that exist. Addresses are relative (D22); those that clients append to end in `/`."""

    authentication_classes = []

    def get(self, request: Request) -> Response:  # noqa: ARG002
        return Response(discovery_document(), headers={"Cache-Control": f"public, max-age={MAX_AGE}"})

    def ready_scopes(self) -> Collection[str]:
        return ()


class UnsupportedGrantType(Invalid):
    code = "unsupported_grant_type"


class Token(MachineView):
    """Neither a token nor a cookie counts here: the code and the verifier are the permission."""

    http_method_names = ["post"]
    authentication_classes = []
    dialect = oauth_dialect

    @sensitive_variables("fields", "secret")
    def post(self, request: Request) -> Response:
        fields = _fields(request)
        if fields.get("grant_type") != "authorization_code":
            raise UnsupportedGrantType("grant_type is not authorization_code.")
        agent = request.headers.get("User-Agent", "")
        token, secret = cli_login.redeem(fields, agent=agent, address=address_of(request))
        document = {
            "access_token": secret,
            "token_type": "Bearer",
            "expires_in": int(settings.TOKEN_LIFETIME.total_seconds()),
            "scope": token.scope,
        }
        return Response(document, headers={"Cache-Control": "no-store", "Pragma": "no-cache"})

    def handle_exception(self, exc: Exception) -> Response:
        refusal = count_wrong_secret(self.request) if isinstance(exc, cli_login.GrantRefused) else None
        return super().handle_exception(refusal or exc)


@sensitive_variables("form")
def _fields(request: Request) -> dict[str, str]:
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise Invalid("This is not a form.", hint=f"Send the parameters as {FORM}.")
    form = read_form(request)
    for name, values in form.items():
        if len(values) > 1:
            raise Invalid(f"The parameter {name[:40]} was sent {len(values)} times.", hint="Send it once.")
    return {name: values[0] for name, values in form.items()}


urlpatterns = [
    path(".well-known/terraform.json", Discovery.as_view(), name="discovery"),
    path("oauth/token", Token.as_view(), name="login-token"),
]
