"""An operator's input about the way to a registry: its URL, a token, certificates, a proxy."""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from django.conf import settings

from apps.lib.errors import Invalid
from apps.lib.net import addresses, hostnames

MAX_CHARACTERS = 500  # of URLs, as the columns have them
MAX_CA_CHARACTERS = 200_000
MAX_TOKEN_CHARACTERS = 4_000
_URL_HINT = "Enter https:// and the host of the registry. Internal networks need LARDER_OUTGOING_ALLOW."


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate that an upstream is trusted by."""

    subject: str
    fingerprint: str  # SHA-256, upper-case hex digits
    expires_at: datetime


def checked_url(text: str) -> str:
    """Return where the discovery document of a registry is asked for, "" for its host. Raises Invalid."""
    url = text.strip().rstrip("/")
    if not url:
        return ""
    try:
        addresses.check_url(url, settings.UPSTREAM.allow)
    except Invalid as refusal:
        raise Invalid(str(refusal), hint=_URL_HINT) from None
    parts = urlsplit(url)
    if parts.path or parts.query or parts.fragment:
        raise Invalid(f"The URL has a path ({parts.path[:40] or '?'}), expected the host alone.", hint=_URL_HINT)
    if hostnames.is_one_of(parts.netloc, [settings.PUBLIC_HOST, *settings.HOSTNAMES]):
        raise Invalid(f"{url} is this Larder.", hint="Enter the URL of another registry.")
    return url


def checked_proxy(text: str) -> str:
    """Return the URL of an outgoing HTTP proxy, or "". Raises Invalid."""
    proxy = text.strip().rstrip("/")
    if not proxy:
        return ""
    hint = "Enter a URL such as http://proxy.example.com:3128."
    try:
        parts = urlsplit(proxy)
        _ = parts.port
    except ValueError:
        raise Invalid("The host or port of the proxy cannot be read.", hint=hint) from None
    if parts.username is not None or parts.password is not None:
        raise Invalid(
            "The URL of the proxy contains a user name or password, which pages would show.",
            hint="Use a proxy without a password, or set LARDER_OUTGOING_PROXY for all registries.",
        )
    is_plain = proxy.isascii() and proxy.isprintable() and " " not in proxy and len(proxy) <= MAX_CHARACTERS
    if parts.scheme != "http" or not parts.hostname or parts.path or parts.query or not is_plain:
        raise Invalid(f"The proxy is {proxy[:60]!r}, expected http:// and a host.", hint=hint)
    return proxy


def checked_ca(text: str) -> str:
    """Return PEM certificates, one after another, or "". Raises Invalid."""
    if not text.strip():
        return ""
    hint = "Paste the certificate of the authority that begins with -----BEGIN CERTIFICATE-----."
    if "PRIVATE KEY" in text:
        raise Invalid("The text contains a private key.", hint="Paste the certificate alone. Treat the key as leaked.")
    if len(text) > MAX_CA_CHARACTERS:
        raise Invalid(f"The certificates have more than {MAX_CA_CHARACTERS:,} characters.", hint=hint)
    try:
        found = x509.load_pem_x509_certificates(text.encode())
    except ValueError as error:
        raise Invalid(f"The text is not a PEM certificate: {str(error)[:120]}", hint=hint) from None
    return "".join(one.public_bytes(Encoding.PEM).decode() for one in found)


def authorities_of(pem: str) -> list[Authority]:
    """Return the certificates that `checked_ca` accepted."""
    found = x509.load_pem_x509_certificates(pem.encode()) if pem else []
    return [
        Authority(one.subject.rfc4514_string(), one.fingerprint(SHA256()).hex().upper(), one.not_valid_after_utc)
        for one in found
    ]


def checked_token(text: str) -> str:
    """Return a token as headers can carry it, or "". Raises Invalid, without its text."""
    token = text.strip()
    if len(token) > MAX_TOKEN_CHARACTERS or not token.isascii() or not token.isprintable() or " " in token:
        raise Invalid(
            f"The token has more than {MAX_TOKEN_CHARACTERS:,} characters, or contains spaces or non-ASCII characters.",
            hint="Paste the token alone, without Bearer.",
        )
    return token
