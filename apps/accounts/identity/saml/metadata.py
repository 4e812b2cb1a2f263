"""The metadata of identity providers, remembered in each process, and that of Larder."""

import time
from pathlib import Path
from threading import Lock
from typing import Any

import requests
import structlog
from django.conf import settings
from django.urls import reverse
from onelogin.saml2.constants import OneLogin_Saml2_Constants as Constants
from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser as Parser
from onelogin.saml2.settings import OneLogin_Saml2_Settings as Settings

from apps.accounts.identity.openid import fetching
from apps.accounts.identity.saml.encoding import is_utf8
from apps.lib.settings_values.openid import is_safe
from apps.lib.settings_values.saml import SamlProvider

MAX_AGE_SECONDS = 3600.0
SECURITY = {
    "wantAssertionsSigned": True,
    "wantNameId": True,
    "wantAttributeStatement": False,
    "rejectDeprecatedAlgorithm": True,
    "allowRepeatAttributeName": True,
    "allowSingleLabelDomains": True,
    "requestedAuthnContext": False,
    "signatureAlgorithm": Constants.RSA_SHA256,
    "digestAlgorithm": Constants.SHA256,
}

log = structlog.get_logger("larder.accounts")
_known: dict[SamlProvider, tuple[dict[str, Any], float]] = {}
_lock = Lock()


def clear() -> None:
    _known.clear()


def of_provider(provider: SamlProvider) -> dict[str, Any]:
    """Return where the provider signs people in, and its keys. During an outage the last ones count.

    Raises requests.RequestException.
    """
    with _lock:
        found, at = _known.get(provider, ({}, 0.0))
        if not found or time.monotonic() - at > MAX_AGE_SECONDS:
            try:
                found = _checked(provider, _read(provider))
            except requests.RequestException as error:
                if not found:
                    raise
                log.warning("saml_metadata_not_refreshed", provider=provider.id, error=type(error).__name__)
            _known[provider] = found, time.monotonic()
        return found


def entity_id(provider: SamlProvider) -> str:
    return str(settings.PUBLIC_URL + reverse("portal:saml-metadata", args=[provider.id]))


def acs_url(provider: SamlProvider) -> str:
    """Return the address of the assertion consumer service, to which the provider's page posts its answer."""
    return str(settings.PUBLIC_URL + reverse("portal:saml-acs", args=[provider.id]))


def ours(provider: SamlProvider) -> bytes:
    """Return the metadata of Larder for this provider, which needs nothing from there."""
    found = Settings({**_config(provider), "idp": {}}, sp_validation_only=True).get_sp_metadata()
    return found if isinstance(found, bytes) else str(found).encode()


def settings_for(provider: SamlProvider) -> dict[str, Any]:
    """Return the library's settings. Raises requests.RequestException."""
    return {**_config(provider), "idp": of_provider(provider)}


def _config(provider: SamlProvider) -> dict[str, Any]:
    return {
        "strict": True,
        "security": SECURITY,
        "sp": {
            "entityId": entity_id(provider),
            "assertionConsumerService": {"url": acs_url(provider), "binding": Constants.BINDING_HTTP_POST},
            "NameIDFormat": Constants.NAMEID_PERSISTENT,
        },
    }


def _read(provider: SamlProvider) -> bytes:
    if "://" not in provider.source:
        try:
            return Path(provider.source).read_bytes()
        except OSError:
            raise fetching.AnswerRefused("the file with the metadata cannot be read") from None
    with fetching.Session() as session:
        response = session.get(provider.source)
    response.raise_for_status()
    return bytes(response.content)


def _checked(provider: SamlProvider, document: bytes) -> dict[str, Any]:
    if not is_utf8(document):
        raise fetching.AnswerRefused("the metadata is not in UTF-8")
    try:
        found = Parser.parse(document, entity_id=provider.issuer).get("idp", {})
    except Exception:  # noqa: BLE001  # of the XML libraries, which have no common class
        raise fetching.AnswerRefused("the metadata is no XML") from None
    sign_in = found.get("singleSignOnService", {}).get("url")
    if found.get("entityId") != provider.issuer:
        raise fetching.AnswerRefused("the metadata is of another entity")
    if not isinstance(sign_in, str) or not is_safe(sign_in, loopback=True):
        raise fetching.AnswerRefused("the metadata has no usable SingleSignOnService with HTTP-Redirect")
    keys = found.get("x509certMulti", {}).get("signing") or list(filter(None, [found.get("x509cert")]))
    if not keys:
        raise fetching.AnswerRefused("the metadata has no key for signatures")
    return {
        "entityId": provider.issuer,
        "singleSignOnService": {"url": sign_in, "binding": Constants.BINDING_HTTP_REDIRECT},
        "x509certMulti": {"signing": keys},
    }
