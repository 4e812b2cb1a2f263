"""allauth's OpenID Connect provider with what it lacks: a nonce, checked signatures, one identity in all answers."""

import secrets
from typing import Any

from allauth.core.internal.httpkit import add_query_params
from allauth.socialaccount.models import SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Client, OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from apps.accounts.identity.sign_on import fetching, openid_metadata, openid_tokens, providers
from apps.lib.settings_values.openid import Provider


class Client(OAuth2Client):  # type: ignore[misc]  # allauth ships no types
    def get_redirect_url(self, authorization_url: str, scope: Any, extra_params: dict[str, str]) -> str:
        """Like allauth's, for endpoints that have a query already, and with the scopes in the order of the settings."""
        fields = {
            "client_id": self.consumer_key,
            "redirect_uri": self.callback_url,
            "response_type": "code",
            "scope": " ".join(scope),
            "state": self.state,
        }
        return str(add_query_params(authorization_url, {**extra_params, **fields}))


class Callback(OAuth2CallbackView):  # type: ignore[misc]  # allauth ships no types
    def _get_state(self, request: HttpRequest, provider: "LarderProvider") -> Any:
        state, response = super()._get_state(request, provider)
        self.adapter.nonce = state["nonce"] if state else ""
        return state, response


class Adapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth ships no types
    client_class = Client
    nonce = ""

    @property
    def ours(self) -> Provider:
        found: Provider = self.get_provider().ours
        return found

    @property
    def basic_auth(self) -> bool:
        """OpenID Connect Discovery: a provider that says nothing takes the secret by Basic authentication."""
        methods = self.openid_config.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        return bool(self.ours.secret) and "client_secret_post" not in methods

    @property
    def openid_config(self) -> dict[str, Any]:
        return openid_metadata.discovery(self.ours)

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:  # noqa: ARG002  # allauth names them
        return callback_url(self.ours)

    def get_access_token_data(self, *arguments: Any, **keywords: Any) -> dict[str, Any]:
        try:
            answer = super().get_access_token_data(*arguments, **keywords)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise fetching.AnswerRefused("it cannot be read") from None
        if not isinstance(answer, dict) or not isinstance(answer.get("access_token"), str):
            raise OAuth2Error("the token endpoint's answer has no access token")
        return answer

    def parse_token(self, data: dict[str, Any]) -> SocialToken:
        return SocialToken(token=data["access_token"])  # for this request: it is not stored

    def complete_login(self, request: HttpRequest, app: Any, token: SocialToken, **keywords: Any) -> SocialLogin:  # noqa: ARG002  # allauth names them
        """Check the id token; ask the userinfo endpoint only for groups that it lacks."""
        provider = self.ours
        claims = openid_tokens.id_claims(provider, keywords["response"].get("id_token"), nonce=self.nonce)
        userinfo = self.openid_config.get("userinfo_endpoint")
        if provider.groups_claim not in claims and "_claim_names" not in claims and userinfo:
            more = fetching.json_object(userinfo, access_token=token.token)
            if more.get("sub") != claims["sub"]:
                raise providers.TokenRefused("userinfo_of_another_person")
            claims = more | claims
        login = self.get_provider().sociallogin_from_response(request, claims)
        login.identity = providers.identity_of(provider, claims)
        login.claims = claims
        return login


class LarderProvider(providers.OfSettings, OpenIDConnectProvider):  # type: ignore[misc]  # allauth ships no types
    oauth2_adapter_class = Adapter

    def start_sign_on(self, request: HttpRequest, *, process: str, after: str) -> str:
        """Return the address of the provider's sign-in page, and remember the attempt in the session."""
        openid_metadata.discovery(self.ours)
        nonce = secrets.token_urlsafe(32)
        auth_params = {"nonce": nonce}
        if process != "login":
            auth_params |= {"prompt": "login", "max_age": "0"}
        response = self.redirect(
            request,
            process=process,
            next_url=after,
            auth_params=auth_params,
            scope=self.ours.scopes,
            nonce=nonce,
            user=request.user.pk,
            begun=timezone.now().timestamp(),
        )
        return str(response.url)


def callback_url(provider: Provider) -> str:
    # The page belongs to a room above, of which only the URL name is known here.
    return str(settings.PUBLIC_URL + reverse("portal:sign-on-callback", args=[provider.id]))
