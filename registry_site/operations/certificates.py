"""The looks of `manage.py doctor` at certificates: the one that Larder serves, and the one that clients get."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from cryptography import x509
from django.conf import settings

from registry_site.monitoring import public_certificate
from registry_site.operations.examining import FAIL, OK, WARN, Finding
from registry_site.startup import certificates

SOON, LATE = timedelta(days=30), timedelta(days=7)


def served() -> Iterator[Finding]:
    """Yield what is in the file that Larder serves itself."""
    path = certificates.served_file(settings.TLS, settings.DATA_DIR)
    if path is None:
        yield Finding("certificate", OK, "served elsewhere (LARDER_TLS=off)")
        return
    if settings.TLS == "auto" and not path.is_file():
        yield Finding("certificate", OK, "the first start creates one")
        return
    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError:
        yield Finding("certificate", FAIL, f"{path} contains no PEM certificate", "See LARDER_TLS.")
        return
    yield from _judged("certificate", found, str(path), "Renew it, then restart the web processes.")


def public() -> Iterator[Finding]:
    """Yield what clients get at the public name, where a proxy may have the certificate."""
    part, url = "public certificate", settings.PUBLIC_URL
    if not public_certificate.is_served():
        yield Finding(part, OK, f"{url} is plain HTTP")
        return
    try:
        found = public_certificate.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        hint = (
            "Start Larder and its proxy first. If clients reach it, this host has no way to its own public address "
            "(hairpin NAT, or another DNS): watch the certificate from another host."
        )
        yield Finding(part, WARN, f"{url} cannot be reached from this host: {reason}", hint)
        return
    yield from _judged(part, found, f"the one at {url}", "Renew it where it is served: in the proxy, or in LARDER_TLS.")


def _judged(part: str, found: x509.Certificate, where: str, renew: str) -> Iterator[Finding]:
    left = found.not_valid_after_utc - datetime.now(UTC)
    words = f"{where} is valid until {found.not_valid_after_utc:%Y-%m-%d}"
    state = FAIL if left < LATE else WARN if left < SOON else OK
    yield Finding(part, state, words, "" if state == OK else renew)
    host = urlsplit(settings.PUBLIC_URL).hostname or ""
    if not certificates.is_for(found, host):
        found_names = ", ".join(certificates.names_of(found)) or "no name"
        words = f"{where} is for {found_names}, LARDER_PUBLIC_URL says {host}"
        yield Finding(part, FAIL, words, "Clients reject it: use a certificate for the public name.")
