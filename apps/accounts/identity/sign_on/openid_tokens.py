"""Checks of what a provider signs: id tokens and logout tokens."""

import hashlib
import json
import time
from typing import Any

from allauth.core.internal.deferred import jwt
from django.core.cache import cache
from django.utils.crypto import constant_time_compare

from apps.accounts.identity.sign_on import openid_metadata
from apps.accounts.identity.sign_on.providers import MAX_SUBJECT_LENGTH, TokenRefused
from apps.lib.settings_values.openid import Provider

# Public keys only: with HS256 a public value could be taken for the secret. `none` is no signature.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_SECONDS = 30
MAX_LOGOUT_AGE_SECONDS = 300
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"


def id_claims(provider: Provider, token: object, *, nonce: str) -> dict[str, Any]:
    """Return the claims of an id token. Raises TokenRefused and requests.RequestException."""
    claims = _claims(provider, token, required=("iss", "sub", "aud", "exp", "iat"))
    if not nonce or not constant_time_compare(str(claims.get("nonce", "")), nonce):
        raise TokenRefused("wrong_nonce")
    _subject(claims)
    return claims


def logout_claims(provider: Provider, token: object) -> dict[str, Any]:
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


def _claims(provider: Provider, token: object, *, required: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(token, str):
        raise TokenRefused("no_token")
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in ALGORITHMS:
            raise TokenRefused("algorithm_not_accepted")
        found = openid_metadata.key_for(provider, header.get("kid"))
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
