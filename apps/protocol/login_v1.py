"""The token endpoint of `login.v1`; the page of its authorization endpoint is in the portal. See identity.cli_login."""

from django.conf import settings
from django.urls import path
from django.views.decorators.debug import sensitive_variables
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.identity import cli_login
from apps.accounts.identity.sign_ins import address_of, count_wrong_secret
from apps.http.errors import oauth_dialect
from apps.http.forms import read_form
from apps.http.views import MachineView
from apps.lib.errors import Invalid

FORM = "application/x-www-form-urlencoded"


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
        raise Invalid("This is no form.", hint=f"Send the parameters as {FORM}.")
    form = read_form(request)
    for name, values in form.items():
        if len(values) > 1:
            raise Invalid(f"The parameter {name[:40]} came {len(values)} times.", hint="Send it once.")
    return {name: values[0] for name, values in form.items()}


urlpatterns = [path("oauth/token", Token.as_view(), name="login-token")]
