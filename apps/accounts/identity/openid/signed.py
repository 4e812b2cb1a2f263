"""Checks of what a provider signs: id tokens and logout tokens."""

import hashlib
import json
import time
from typing import Any

from allauth.core.internal.deferred import jwt
from django.core.cache import cache
from django.utils.crypto import constant_time_compare

from apps.accounts.identity.openid import metadata
from apps.lib.settings_values.openid import Provider

# Public keys only: with HS256 a public value could be taken for the secret. `none` is no signature.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_SECONDS = 30
MAX_SUBJECT_LENGTH = 191  # the column of allauth's accounts
MAX_LOGOUT_AGE_SECONDS = 300
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"


class TokenRefused(Exception):
    """The text is for logs and the audit: a code without values of the token."""


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
    if not cache.add(f"larder-logout-{provider.id}-{_digest(claims['jti'])}", value=1, timeout=seconds):
        raise TokenRefused("used_before")
    return claims


def _digest(value: object) -> str:
    """A key for the cache, whatever a provider calls its tokens."""
    return hashlib.sha256(str(value).encode()).hexdigest()


def _claims(provider: Provider, token: object, *, required: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(token, str):
        raise TokenRefused("no_token")
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in ALGORITHMS:
            raise TokenRefused("algorithm_not_accepted")
        found = metadata.key_for(provider, header.get("kid"))
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
