"""An identity provider that speaks SAML: its metadata in a file, and answers that the test scripts and it signs."""

import base64
import datetime as dt
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from onelogin.saml2.utils import OneLogin_Saml2_Utils as Utils

from apps.contrib.saml.providers import SamlProvider

ISSUER = "https://saml.acme.example/idp"
SIGN_IN = "https://saml.acme.example/sign-in"
PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
PASSWORD = "urn:oasis:names:tc:SAML:2.0:ac:classes:Password"
_NAMESPACES = 'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'


@dataclass
class Key:
    private: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))

    @cached_property
    def pem(self) -> str:
        kind = serialization.PrivateFormat.PKCS8
        return self.private.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption()).decode()

    @cached_property
    def certificate(self) -> str:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "saml.acme.example")])
        now = dt.datetime.now(dt.UTC)
        day = dt.timedelta(days=1)
        built = x509.CertificateBuilder(name, name, self.private.public_key(), 1, now - day, now + day)
        return built.sign(self.private, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

    def sign(self, xml: str) -> str:
        return bytes(Utils.add_sign(xml, self.pem, self.certificate)).decode()


@dataclass
class Answer:
    """The content of an answer; tests change it before it is signed."""

    asked: str
    audience: str
    recipient: str
    subject: str = "a-1"
    name_format: str = PERSISTENT
    issuer: str = ISSUER
    attributes: dict[str, list[str]] = field(default_factory=dict)
    context: str = PASSWORD
    authenticated: float = 0
    lifetime: float = 300
    id: str = "_assertion"

    def assertion(self) -> str:
        attributes = "".join(
            f'<saml:Attribute Name="{name}">'
            + "".join(f"<saml:AttributeValue>{value}</saml:AttributeValue>" for value in values)
            + "</saml:Attribute>"
            for name, values in self.attributes.items()
        )
        asked = f'InResponseTo="{self.asked}"' if self.asked else ""
        audience = f"<saml:Audience>{self.audience}</saml:Audience>"
        audiences = f"<saml:AudienceRestriction>{audience}</saml:AudienceRestriction>" if self.audience else ""
        statement = f"<saml:AttributeStatement>{attributes}</saml:AttributeStatement>" if attributes else ""
        return (
            f'<saml:Assertion {_NAMESPACES} ID="{self.id}" Version="2.0" IssueInstant="{at(0)}">'
            f"<saml:Issuer>{self.issuer}</saml:Issuer>"
            f'<saml:Subject><saml:NameID Format="{self.name_format}">{self.subject}</saml:NameID>'
            '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">'
            f'<saml:SubjectConfirmationData NotOnOrAfter="{at(self.lifetime)}" Recipient="{self.recipient}" {asked}/>'
            "</saml:SubjectConfirmation></saml:Subject>"
            f'<saml:Conditions NotBefore="{at(-60)}" NotOnOrAfter="{at(self.lifetime)}">{audiences}</saml:Conditions>'
            f'<saml:AuthnStatement AuthnInstant="{at(self.authenticated)}"><saml:AuthnContext>'
            f"<saml:AuthnContextClassRef>{self.context}</saml:AuthnContextClassRef>"
            f"</saml:AuthnContext></saml:AuthnStatement>{statement}</saml:Assertion>"
        )

    def around(self, assertion: str, *, asked: str | None = None, id_: str = "_response") -> str:
        """Return a response, which nothing signs, with these assertions."""
        said = self.asked if asked is None else asked
        in_response_to = f'InResponseTo="{said}"' if said else ""
        return (
            f'<samlp:Response {_NAMESPACES} ID="{id_}" Version="2.0" IssueInstant="{at(0)}" {in_response_to} '
            f'Destination="{self.recipient}"><saml:Issuer>{self.issuer}</saml:Issuer><samlp:Status>'
            '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>'
            f"{assertion}</samlp:Response>"
        )


@dataclass
class Scripted:
    """`person` has the attributes of who signs in, `changes` what else their next answers say."""

    key: Key
    source: str
    person: dict[str, list[str]] = field(default_factory=lambda: {"uid": ["ann"], "groups": []})
    changes: dict[str, Any] = field(default_factory=dict)

    def provider(self, name: str = "corp", **changes: Any) -> SamlProvider:
        fields: dict[str, Any] = {
            "id": name,
            "issuer": ISSUER,
            "source": self.source,
            "name": "Acme ID",
            "groups_claim": "groups",
            "new_accounts": "everyone",
        }
        return SamlProvider(**fields | changes)

    def metadata(self, issuer: str = ISSUER) -> str:
        certificate = "".join(self.key.certificate.splitlines()[1:-1])
        return (
            f'<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{issuer}">'
            '<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">'
            '<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data>'
            f"<ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>"
            '<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" '
            f'Location="{SIGN_IN}"/></md:IDPSSODescriptor></md:EntityDescriptor>'
        )

    def answer(self, url: str, **changes: Any) -> Answer:
        """Read the request in the address of the sign-in page, and say who is there."""
        request = request_of(url)
        attributes = {name: values for name, values in self.person.items() if values}
        issuer = request.find("{urn:oasis:names:tc:SAML:2.0:assertion}Issuer")
        assert issuer is not None
        fields = {
            "asked": request.get("ID"),
            "audience": issuer.text,
            "recipient": request.get("AssertionConsumerServiceURL"),
            "attributes": attributes,
        }
        return Answer(**fields | self.changes | changes)

    def signed(self, answer: Answer, key: Key | None = None) -> str:
        return answer.around((key or self.key).sign(answer.assertion()))


def request_of(url: str) -> ET.Element:
    packed = parse_qs(urlsplit(url).query)["SAMLRequest"][0]
    return ET.fromstring(zlib.decompress(base64.b64decode(packed), -15))  # noqa: S314  # Larder wrote it


def at(seconds: float) -> str:
    moment = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def form(xml: str | bytes) -> dict[str, str]:
    xml = xml.encode() if isinstance(xml, str) else xml
    return {"SAMLResponse": base64.b64encode(xml).decode()}


def post(client: Any, xml: str | bytes) -> Any:
    """Post like the provider's page in the browser; leads on as far as Larder does."""
    answer = client.post("/account/sign-on/corp/acs", form(xml))
    return client.get(answer.url) if answer.status_code == 303 else answer
