"""SAML 2.0: allauth's provider with one identity, the persistent NameID. Answers meet the checks of python3-saml, and
those that it skips where an answer leaves something out.
"""

import base64
import binascii
import codecs
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from allauth.socialaccount.helpers import complete_social_login
from allauth.socialaccount.providers.saml.provider import SAMLProvider
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from onelogin.saml2.auth import OneLogin_Saml2_Auth
from onelogin.saml2.constants import OneLogin_Saml2_Constants as Constants
from onelogin.saml2.errors import OneLogin_Saml2_ValidationError as ValidationError
from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser as Parser
from onelogin.saml2.response import OneLogin_Saml2_Response as Response
from onelogin.saml2.settings import OneLogin_Saml2_Settings as Settings
from onelogin.saml2.utils import OneLogin_Saml2_Utils as Utils

from apps.accounts.identity.sign_on import provider_requests, providers
from apps.accounts.identity.sign_on.provider_requests import Remembered
from apps.accounts.identity.sign_on.providers import MAX_SUBJECT_LENGTH, TokenRefused
from apps.contrib.saml.providers import SamlProvider
from apps.lib.settings_values.identity_providers import is_safe

MAX_BYTES = 512 * 1024
# The names under which providers send what an id token calls otherwise.
NAMES = {
    "preferred_username": (
        "preferred_username",
        "username",
        "uid",
        "urn:oid:0.9.2342.19200300.100.1.1",
        "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name",
        "email",
        "urn:oid:0.9.2342.19200300.100.1.3",
        "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
    ),
    "name": (
        "name",
        "displayName",
        "urn:oid:2.16.840.1.113730.3.1.241",
        "http://schemas.microsoft.com/identity/claims/displayname",
    ),
}
# Entra ID sends this instead of the groups of people who have too many.
GROUPS_ELSEWHERE = "http://schemas.microsoft.com/claims/groups.link"
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


class LarderSamlProvider(providers.OfSettings, SAMLProvider):  # type: ignore[misc]  # allauth ships no types
    def start_sign_on(self, request: HttpRequest, *, process: str, after: str) -> str:
        auth = OneLogin_Saml2_Auth(request_data(self.ours), settings_for(self.ours))
        url = auth.login(return_to="", force_authn=process != "login")
        self.stash_redirect_state(
            request,
            process=process,
            next_url=after,
            state_id=auth.get_last_request_id(),
            user=request.user.pk,
            begun=timezone.now().timestamp(),
        )
        return str(url)

    def finish(self, request: HttpRequest, claims: dict[str, Any]) -> HttpResponse:
        """Sign in who began this in the same browser. Each request is answered once."""
        try:
            state = self.unstash_redirect_state(request, claims["asked"])
        except PermissionDenied:
            raise providers.not_begun_here() from None
        login = self.sociallogin_from_response(request, claims)
        login.state = state
        login.identity = providers.identity_of(self.ours, claims)
        login.claims = claims
        response: HttpResponse = complete_social_login(request, login)
        return response


def request_data(provider: SamlProvider) -> dict[str, Any]:
    """Return what the library asks of a request: by the settings, not by headers."""
    parts = urlsplit(acs_url(provider))
    https = "on" if parts.scheme == "https" else "off"
    return {"https": https, "http_host": parts.netloc, "script_name": parts.path, "get_data": {}, "post_data": {}}


def claims_of(provider: SamlProvider, encoded: str) -> dict[str, Any]:
    """Return what the signed assertion says, under the names of an id token, and the request that it answers.

    Raises TokenRefused and requests.RequestException.
    """
    config = settings_for(provider)
    if len(encoded) > MAX_BYTES:
        raise TokenRefused("too_large")
    try:
        xml = base64.b64decode("".join(encoded.split()), validate=True)
    except (ValueError, binascii.Error):
        raise TokenRefused("no_base64") from None
    if not is_utf8(xml):
        raise TokenRefused("not_utf8")
    if b"<!" in xml:
        raise TokenRefused("comment_or_doctype")  # parsers disagree on a text with a comment in it
    try:
        response = Response(Settings(config), base64.b64encode(xml).decode())
        asked = str(response.get_in_response_to() or "")
        response.is_valid(request_data(provider), request_id=asked, raise_exceptions=True)
        return _said(provider, response, asked)
    except TokenRefused:
        raise
    except ValidationError as error:
        names = [name for name, code in vars(ValidationError).items() if name.isupper() and code == error.code]
        raise TokenRefused(f"saml_{names[0].lower() if names else 'refused'}") from None
    except Exception as error:
        raise TokenRefused(f"saml_{type(error).__name__.lower()}") from error


def _said(provider: SamlProvider, response: Response, asked: str) -> dict[str, Any]:
    find = response._query_assertion  # noqa: SLF001  # within the element that the signature covers
    if not asked or not _answers(provider, find("/saml:Subject/saml:SubjectConfirmation"), asked):
        # The attribute of the response around the assertion is not signed, and the library lets all of these be absent.
        raise TokenRefused("wrong_subject_confirmation")
    if entity_id(provider) not in response.get_audiences():
        raise TokenRefused("no_audience")
    subject = response.get_nameid_data()
    if subject.get("Format") != Constants.NAMEID_PERSISTENT:
        raise TokenRefused("name_id_not_persistent")  # an address can change hands, a transient one does
    if not 0 < len(subject["Value"]) <= MAX_SUBJECT_LENGTH or subject["Value"] != subject["Value"].strip():
        raise TokenRefused("wrong_subject")
    attributes = response.get_attributes()
    statement = find("/saml:AuthnStatement")[0]
    contexts = response.get_authn_contexts()
    return {
        "sub": subject["Value"],
        "asked": asked,
        "auth_time": Utils.parse_SAML_to_time(statement.get("AuthnInstant")),
        "acr": contexts[0] if contexts else None,
        **{
            ours: next((attributes[name][0] for name in names if attributes.get(name)), "")
            for ours, names in NAMES.items()
        },
        provider.groups_claim: [text for text in attributes.get(provider.groups_claim, []) if text],
        **({"_claim_names": {provider.groups_claim: ""}} if GROUPS_ELSEWHERE in attributes else {}),
    }


def _answers(provider: SamlProvider, confirmations: list[Any], asked: str) -> bool:
    """Return whether the assertion itself is for this address, for that request, and for a limited time."""
    if len(confirmations) != 1 or confirmations[0].get("Method") != Constants.CM_BEARER:
        return False
    data = confirmations[0].find("saml:SubjectConfirmationData", namespaces=Constants.NSMAP)
    if data is None or not data.get("NotOnOrAfter"):
        return False
    return bool((data.get("InResponseTo"), data.get("Recipient")) == (asked, acs_url(provider)))


# --- Metadata: of the providers, and of Larder ------------------------------------------------------------------------


def entity_id(provider: SamlProvider) -> str:
    return str(settings.PUBLIC_URL + reverse("portal:saml-metadata", args=[provider.id]))


def acs_url(provider: SamlProvider) -> str:
    """Return the address of the assertion consumer service, to which the provider's page posts its answer."""
    return str(settings.PUBLIC_URL + reverse("portal:saml-acs", args=[provider.id]))


def own_metadata(provider: SamlProvider) -> bytes:
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
    """Return whether a parser reads these bytes as UTF-8. In UTF-16 or UTF-7 a search for `<!` finds no doctype."""
    try:
        xml.decode()
    except UnicodeDecodeError:
        return False
    start = xml.removeprefix(codecs.BOM_UTF8)
    return b"\0" not in xml and (not re.match(rb"<\?xml\s", start) or bool(_DECLARATION.match(start)))


def _fetch(provider: SamlProvider) -> dict[str, Any]:
    """Return where the provider signs people in, and its keys."""
    if "://" in provider.source:
        with provider_requests.Session() as session:
            response = session.get(provider.source)
        response.raise_for_status()
        document = bytes(response.content)
    else:
        try:
            document = Path(provider.source).read_bytes()
        except OSError:
            raise provider_requests.AnswerRefused("the file with the metadata cannot be read") from None
    if not is_utf8(document):
        raise provider_requests.AnswerRefused("the metadata is not in UTF-8")
    try:
        found = Parser.parse(document, entity_id=provider.issuer).get("idp", {})
    except Exception:  # noqa: BLE001  # of the XML libraries, which have no common class
        raise provider_requests.AnswerRefused("the metadata is not XML") from None
    sign_in = found.get("singleSignOnService", {}).get("url")
    if found.get("entityId") != provider.issuer:
        raise provider_requests.AnswerRefused("the metadata is of another entity")
    if not isinstance(sign_in, str) or not is_safe(sign_in, loopback=True):
        raise provider_requests.AnswerRefused("the metadata has no usable SingleSignOnService with HTTP-Redirect")
    keys = found.get("x509certMulti", {}).get("signing") or list(filter(None, [found.get("x509cert")]))
    if not keys:
        raise provider_requests.AnswerRefused("the metadata has no key for signatures")
    return {
        "entityId": provider.issuer,
        "singleSignOnService": {"url": sign_in, "binding": Constants.BINDING_HTTP_REDIRECT},
        "x509certMulti": {"signing": keys},
    }


_published = Remembered(_fetch, outage="saml_metadata_not_refreshed")
clear = _published.clear
