"""What providers publish: the discovery document and the keys of their signatures, remembered in each process."""

import time
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import requests
import structlog

from apps.accounts.identity.openid import fetching
from apps.lib.settings_values.openid import Provider

MAX_AGE_SECONDS = 3600.0
# A signature by an unknown key asks for the keys again, and strangers can send such a signature.
MIN_REFRESH_SECONDS = 60.0
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")

log = structlog.get_logger("larder.accounts")


@dataclass
class _Published:
    document: dict[str, Any] = field(default_factory=dict)
    keys: list[dict[str, Any]] = field(default_factory=list)
    document_at: float = 0.0
    keys_at: float = 0.0
    lock: Lock = field(default_factory=Lock)


_published: dict[Provider, _Published] = {}


def clear() -> None:
    _published.clear()


def discovery(provider: Provider) -> dict[str, Any]:
    """Return the discovery document. During an outage the last one counts.

    Raises requests.RequestException.
    """
    known = _published.setdefault(provider, _Published())
    with known.lock:
        if not known.document or time.monotonic() - known.document_at > MAX_AGE_SECONDS:
            try:
                known.document = _checked(provider, fetching.json_object(provider.discovery_url))
            except requests.RequestException as error:
                if not known.document:
                    raise
                log.warning("openid_discovery_not_refreshed", provider=provider.id, error=type(error).__name__)
            known.document_at = time.monotonic()
        return known.document


def key_for(provider: Provider, kid: object) -> dict[str, Any] | None:
    """Return the key of that id, or the only one if the signature names none.

    An unknown id asks again, at most once a minute. Raises requests.RequestException if no keys are known.
    """
    url = discovery(provider)["jwks_uri"]
    known = _published.setdefault(provider, _Published())
    with known.lock:
        age = time.monotonic() - known.keys_at
        is_old = not known.keys or age > MAX_AGE_SECONDS
        if is_old or (_choose(known.keys, kid) is None and age > MIN_REFRESH_SECONDS):
            try:
                known.keys = _signing_keys(fetching.json_object(url))
            except requests.RequestException as error:
                if not known.keys:
                    raise
                log.warning("openid_keys_not_refreshed", provider=provider.id, error=type(error).__name__)
            known.keys_at = time.monotonic()
        return _choose(known.keys, kid)


def _checked(provider: Provider, document: dict[str, Any]) -> dict[str, Any]:
    if document.get("issuer") != provider.issuer:
        raise fetching.AnswerRefused("the discovery document is of another issuer")
    optional = [name for name in ("userinfo_endpoint",) if document.get(name)]
    wrong = [name for name in (*ENDPOINTS, *optional) if not provider.is_safe_endpoint(document.get(name))]
    if wrong:
        raise fetching.AnswerRefused(f"the discovery document has no usable {wrong[0]}")
    return document


def _signing_keys(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the public keys for signatures. None at all counts as an outage: it must not replace known ones."""
    listed = document.get("keys")
    keys = [key for key in listed if isinstance(key, dict)] if isinstance(listed, list) else []
    keys = [key for key in keys if key.get("use", "sig") == "sig" and key.get("kty") in ("RSA", "EC", "OKP")]
    if not keys:
        raise fetching.AnswerRefused("there are no keys for signatures")
    return keys


def _choose(keys: list[dict[str, Any]], kid: object) -> dict[str, Any] | None:
    fitting = keys if kid is None else [key for key in keys if key.get("kid") == kid]
    return fitting[0] if len(fitting) == 1 else None
