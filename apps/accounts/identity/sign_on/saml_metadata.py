"""The metadata of identity providers, and that of Larder; and which bytes a parser reads as what they show."""

import codecs
import re
from pathlib import Path
from typing import Any

from django.conf import settings
from django.urls import reverse
from onelogin.saml2.constants import OneLogin_Saml2_Constants as Constants
from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser as Parser
from onelogin.saml2.settings import OneLogin_Saml2_Settings as Settings

from apps.accounts.identity.sign_on import fetching
from apps.accounts.identity.sign_on.remembered import Remembered
from apps.lib.settings_values.openid import is_safe
from apps.lib.settings_values.saml import SamlProvider

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

# XML 1.0, productions 23, 32 and 80.
_DECLARATION = re.compile(
    rb"""<\?xml\s+version\s*=\s*(["'])1\.\d\1"""
    rb"""(\s+encoding\s*=\s*(["'])utf-8\3)?(\s+standalone\s*=\s*(["'])(yes|no)\5)?\s*\?>""",
    re.IGNORECASE,
)


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
    return {**_config(provider), "idp": _published.of(provider)}


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


def is_utf8(xml: bytes) -> bool:
    """Tell whether a parser reads these bytes as UTF-8. In UTF-16 or UTF-7 a search for `<!` finds no doctype."""
    try:
        xml.decode()
    except UnicodeDecodeError:
        return False
    start = xml.removeprefix(codecs.BOM_UTF8)
    return b"\0" not in xml and (not re.match(rb"<\?xml\s", start) or bool(_DECLARATION.match(start)))


def _fetch(provider: SamlProvider) -> dict[str, Any]:
    """Return where the provider signs people in, and its keys."""
    if "://" in provider.source:
        with fetching.Session() as session:
            response = session.get(provider.source)
        response.raise_for_status()
        document = bytes(response.content)
    else:
        try:
            document = Path(provider.source).read_bytes()
        except OSError:
            raise fetching.AnswerRefused("the file with the metadata cannot be read") from None
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


_published = Remembered(_fetch, outage="saml_metadata_not_refreshed")
clear = _published.clear
