"""What OpenID Connect providers publish: the discovery document and the keys of their signatures."""

from typing import Any

from apps.accounts.identity.sign_on import fetching
from apps.accounts.identity.sign_on.remembered import Remembered
from apps.lib.settings_values.openid import Provider

ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


def discovery(provider: Provider) -> dict[str, Any]:
    """Return the discovery document. Raises requests.RequestException."""
    return _documents.of(provider)


def key_for(provider: Provider, kid: object) -> dict[str, Any] | None:
    """Return the key of that id, or the only one if the signature names none. Raises requests.RequestException."""

    def choose(keys: list[dict[str, Any]]) -> dict[str, Any] | None:
        fitting = keys if kid is None else [key for key in keys if key.get("kid") == kid]
        return fitting[0] if len(fitting) == 1 else None

    return choose(_keys.of(provider, suffices=lambda keys: choose(keys) is not None))


def clear() -> None:
    _documents.clear()
    _keys.clear()


def _fetch_document(provider: Provider) -> dict[str, Any]:
    document = fetching.json_object(provider.discovery_url)
    if document.get("issuer") != provider.issuer:
        raise fetching.AnswerRefused("the discovery document is of another issuer")
    optional = [name for name in ("userinfo_endpoint",) if document.get(name)]
    wrong = [name for name in (*ENDPOINTS, *optional) if not provider.is_safe_endpoint(document.get(name))]
    if wrong:
        raise fetching.AnswerRefused(f"the discovery document has no usable {wrong[0]}")
    return document


def _fetch_keys(provider: Provider) -> list[dict[str, Any]]:
    """Return the public keys for signatures. None at all counts as an outage: it must not replace known ones."""
    listed = fetching.json_object(discovery(provider)["jwks_uri"]).get("keys")
    keys = [key for key in listed if isinstance(key, dict)] if isinstance(listed, list) else []
    keys = [key for key in keys if key.get("use", "sig") == "sig" and key.get("kty") in ("RSA", "EC", "OKP")]
    if not keys:
        raise fetching.AnswerRefused("there are no keys for signatures")
    return keys


_documents = Remembered(_fetch_document, outage="openid_discovery_not_refreshed")
_keys = Remembered(_fetch_keys, outage="openid_keys_not_refreshed")
