"""OpenID Connect: allauth's provider with what it lacks: a nonce, checked signatures, one identity in all answers."""

import hashlib
import json
import secrets
import time
from typing import Any

from allauth.core.internal.deferred import jwt
from allauth.core.internal.httpkit import add_query_params
from allauth.socialaccount.models import SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Client, OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from apps.accounts.identity.sign_on import provider_requests, providers
from apps.accounts.identity.sign_on.provider_requests import Remembered
from apps.accounts.identity.sign_on.providers import MAX_SUBJECT_LENGTH, TokenRefused
from apps.contrib.openid.providers import OpenIdProvider

# Public keys only: with HS256 a public value could be taken for the secret. `none` is no signature.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_SECONDS = 30
MAX_LOGOUT_AGE_SECONDS = 300
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


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
    def _get_state(self, request: HttpRequest, provider: "LarderOpenIdProvider") -> Any:
        state, response = super()._get_state(request, provider)
        self.adapter.nonce = state["nonce"] if state else ""
        return state, response


class Adapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth ships no types
    client_class = Client
    nonce = ""

    @property
    def ours(self) -> OpenIdProvider:
        found: OpenIdProvider = self.get_provider().ours
        return found

    @property
    def basic_auth(self) -> bool:
        """OpenID Connect Discovery: a provider that says nothing takes the secret by Basic authentication."""
        methods = self.openid_config.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        return bool(self.ours.secret) and "client_secret_post" not in methods

    @property
    def openid_config(self) -> dict[str, Any]:
        return discovery(self.ours)

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:  # noqa: ARG002  # allauth names them
        return callback_url(self.ours)

    def get_access_token_data(self, *arguments: Any, **keywords: Any) -> dict[str, Any]:
        try:
            answer = super().get_access_token_data(*arguments, **keywords)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise provider_requests.AnswerRefused("it cannot be read") from None
        if not isinstance(answer, dict) or not isinstance(answer.get("access_token"), str):
            raise OAuth2Error("the token endpoint's answer has no access token")
        return answer

    def parse_token(self, data: dict[str, Any]) -> SocialToken:
        return SocialToken(token=data["access_token"])  # for this request: it is not stored

    def complete_login(self, request: HttpRequest, app: Any, token: SocialToken, **keywords: Any) -> SocialLogin:  # noqa: ARG002  # allauth names them
        """Check the id token; ask the userinfo endpoint only for groups that it lacks."""
        provider = self.ours
        claims = id_claims(provider, keywords["response"].get("id_token"), nonce=self.nonce)
        userinfo = self.openid_config.get("userinfo_endpoint")
        if provider.groups_claim not in claims and "_claim_names" not in claims and userinfo:
            more = provider_requests.json_object(userinfo, access_token=token.token)
            if more.get("sub") != claims["sub"]:
                raise TokenRefused("userinfo_of_another_person")
            claims = more | claims
        login = self.get_provider().sociallogin_from_response(request, claims)
        login.identity = providers.identity_of(provider, claims)
        login.claims = claims
        return login


class LarderOpenIdProvider(providers.OfSettings, OpenIDConnectProvider):  # type: ignore[misc]  # allauth ships no types
    oauth2_adapter_class = Adapter

    @classmethod
    def app_fields(cls, ours: OpenIdProvider) -> dict[str, Any]:  # type: ignore[override]  # its own kind alone
        details = {"provider": ours, "oauth_pkce_enabled": True, "server_url": ours.discovery_url}
        return {"client_id": ours.client_id, "secret": ours.secret, "settings": details}

    def start_sign_on(self, request: HttpRequest, *, process: str, after: str) -> str:
        discovery(self.ours)
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


def callback_url(provider: OpenIdProvider) -> str:
    return str(settings.PUBLIC_URL + reverse("portal:sign-on-callback", args=[provider.id]))


# --- What a provider signs: id tokens and logout tokens ---------------------------------------------------------------


def id_claims(provider: OpenIdProvider, token: object, *, nonce: str) -> dict[str, Any]:
    """Return the claims of an id token. Raises TokenRefused and requests.RequestException."""
    claims = _claims(provider, token, required=("iss", "sub", "aud", "exp", "iat"))
    if not nonce or not constant_time_compare(str(claims.get("nonce", "")), nonce):
        raise TokenRefused("wrong_nonce")
    _subject(claims)
    return claims


def logout_claims(provider: OpenIdProvider, token: object) -> dict[str, Any]:
    """Return the claims of a logout token, once. Raises TokenRefused and requests.RequestException."""
    claims = _claims(provider, token, required=("iss", "aud", "iat", "jti"))
    events = claims.get("events")
    if not isinstance(events, dict) or LOGOUT_EVENT not in events or "nonce" in claims:
        raise TokenRefused("no_logout_token")  # an id token must not end sessions
    if "sub" in claims:
        _subject(claims)
    elif not isinstance(claims.get("sid"), str) or not claims["sid"]:
        raise TokenRefused("nobody_named")  # neither a person nor a session
    if time.time() - claims["iat"] > MAX_LOGOUT_AGE_SECONDS:
        raise TokenRefused("too_old")
    # Remembered for longer than it is accepted, leeway included.
    seconds = MAX_LOGOUT_AGE_SECONDS + 2 * LEEWAY_SECONDS
    digest = hashlib.sha256(str(claims["jti"]).encode()).hexdigest()  # whatever a provider calls its tokens
    if not cache.add(f"larder-logout-{provider.id}-{digest}", value=1, timeout=seconds):
        raise TokenRefused("used_before")
    return claims


def _claims(provider: OpenIdProvider, token: object, *, required: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(token, str):
        raise TokenRefused("no_token")
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in ALGORITHMS:
            raise TokenRefused("algorithm_not_accepted")
        found = key_for(provider, header.get("kid"))
        if found is None or found.get("alg", header["alg"]) != header["alg"]:
            raise TokenRefused("unknown_key")
        key = jwt.PyJWK.from_json(json.dumps(found), algorithm=header["alg"])
        claims: dict[str, Any] = jwt.decode(
            token,
            key=key,
            algorithms=[header["alg"]],
            audience=provider.client_id,
            issuer=provider.issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": list(required)},
        )
    except jwt.PyJWTError as error:
        raise TokenRefused(type(error).__name__) from None
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        raise TokenRefused("unreadable") from None
    if claims.get("azp", provider.client_id) != provider.client_id:
        raise TokenRefused("wrong_party")
    if isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and "azp" not in claims:
        raise TokenRefused("several_audiences")
    return claims


def _subject(claims: dict[str, Any]) -> None:
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT_LENGTH or "\0" in subject:
        raise TokenRefused("unusable_subject")


# --- What a provider publishes: the discovery document and the keys of its signatures ---------------------------------


def discovery(provider: OpenIdProvider) -> dict[str, Any]:
    """Return the discovery document. Raises requests.RequestException."""
    return _documents.of(provider)


def key_for(provider: OpenIdProvider, kid: object) -> dict[str, Any] | None:
    """Return the key of that id, or the only one if the signature names none. Raises requests.RequestException."""

    def choose(keys: list[dict[str, Any]]) -> dict[str, Any] | None:
        fitting = keys if kid is None else [key for key in keys if key.get("kid") == kid]
        return fitting[0] if len(fitting) == 1 else None

    return choose(_keys.of(provider, suffices=lambda keys: choose(keys) is not None))


def clear() -> None:
    _documents.clear()
    _keys.clear()


def _fetch_document(provider: OpenIdProvider) -> dict[str, Any]:
    document = provider_requests.json_object(provider.discovery_url)
    if document.get("issuer") != provider.issuer:
        raise provider_requests.AnswerRefused("the discovery document is of another issuer")
    optional = [name for name in ("userinfo_endpoint",) if document.get(name)]
    wrong = [name for name in (*ENDPOINTS, *optional) if not provider.is_safe_endpoint(document.get(name))]
    if wrong:
        raise provider_requests.AnswerRefused(f"the discovery document has no usable {wrong[0]}")
    return document


def _fetch_keys(provider: OpenIdProvider) -> list[dict[str, Any]]:
    """Return the public keys for signatures. None at all counts as an outage: it must not replace known ones."""
    listed = provider_requests.json_object(discovery(provider)["jwks_uri"]).get("keys")
    keys = [key for key in listed if isinstance(key, dict)] if isinstance(listed, list) else []
    keys = [key for key in keys if key.get("use", "sig") == "sig" and key.get("kty") in ("RSA", "EC", "OKP")]
    if not keys:
        raise provider_requests.AnswerRefused("there are no keys for signatures")
    return keys


_documents = Remembered(_fetch_document, outage="openid_discovery_not_refreshed")
_keys = Remembered(_fetch_keys, outage="openid_keys_not_refreshed")
