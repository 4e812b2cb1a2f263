"""The certificate that clients get at LARDER_PUBLIC_URL. Behind a proxy it is in no file here, so the name is asked."""

import socket
import ssl
from datetime import timedelta
from urllib.parse import urlsplit

import structlog
from cryptography import x509
from django.conf import settings

from apps.lib.process.periodic import Periodic

SECONDS = 5.0
# The first look may come before this server answers.
EVERY = timedelta(minutes=10)

log = structlog.get_logger("larder.certificate")


def is_served() -> bool:
    return settings.PUBLIC_URL.startswith("https://")


def read() -> x509.Certificate:
    """Ask the public name. Raises OSError where it cannot be reached from this host.

    Who signed the certificate does not matter: clients may trust an authority that this host does not know.
    """
    parts = urlsplit(settings.PUBLIC_URL)
    host = parts.hostname or ""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection((host, parts.port or 443), timeout=SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=host) as connection,
    ):
        return x509.load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"")


class Watch:
    """Looks again and again in each web process, so that no scrape waits. `seen`: the last one it read."""

    def __init__(self) -> None:
        self.seen: x509.Certificate | None = None
        self._thread = Periodic("public-certificate", self.look, every=EVERY, rest=lambda: None)

    def look(self) -> None:
        try:
            self.seen = read()
        except (OSError, ValueError) as error:
            log.info("public_name_not_reached", url=settings.PUBLIC_URL, error=str(error))
            self.seen = None

    def start(self) -> None:
        if is_served():
            self._thread.start()


watch = Watch()
