"""The live checks of "how to use": the discovery document as a client gets it, and a pasted token."""

import hashlib
import http.client
import json
import ssl
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

from apps.accounts.access.gate import Viewer, namespaces_with_role, visible_namespaces
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Role

TIMEOUT = 3.0
CACHE_SECONDS = 10.0  # seconds: repeated checks cost one request in this time
MAX_BYTES = 64 * 1024
NAMES = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    is_good: bool
    title: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """A token's name, scope and expiry, for its owner."""

    token: ApiToken
    reads: list[str]
    publishes: list[str]
    more: int


@sensitive_variables("secret")
def token_facts(secret: str) -> TokenFacts:
    """Raises TokenRefused with the reason. Does not count as a use of the token."""
    token = tokens.identify(secret.strip())
    viewer = Viewer(user=token.user, token=token)
    names = list(visible_namespaces(viewer).alphabetical().values_list("name", flat=True)[: NAMES + 1])
    publishes = namespaces_with_role(viewer, Role.PUBLISHER).alphabetical().values_list("name", flat=True)
    return TokenFacts(token, names[:NAMES], list(publishes[:NAMES]), max(len(names) - NAMES, 0))


class DiscoveryCheck:
    """Fetch the document from the public URL, as a client does. One request at a time, with a limited rate."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: tuple[float, Outcome] | None = None

    def outcome(self) -> Outcome:
        with self._lock:
            if self._last is None or time.monotonic() - self._last[0] > CACHE_SECONDS:
                outcome = self._ask()
                self._last = time.monotonic(), outcome
            return self._last[1]

    def _ask(self) -> Outcome:
        url = settings.PUBLIC_URL + reverse("protocol:discovery")
        try:
            status, kind, body = _get(url)
        except ssl.SSLCertVerificationError as error:
            return Outcome(
                is_good=False,
                title="The certificate is not trusted here",
                text=f"Asking {url} failed on Larder's own machine: {error.verify_message}. Clients on machines that "
                "do not trust the authority fail too.",
            )
        except (OSError, http.client.HTTPException) as error:
            why = str(error) or type(error).__name__
            return Outcome(
                is_good=False,
                title="Larder cannot reach its own address",
                text=f"Asking {url} failed on Larder's own machine ({why}). The cause may be only the server's "
                "network: run the command below on the client's machine.",
            )
        return _judged(url, status, kind, body)


def own_authority() -> dict[str, str] | None:
    """This Larder's own certificate authority as PEM, with its fingerprint; None if it serves another's."""
    path = Path(settings.DATA_DIR) / "tls" / "ca.pem"
    if settings.TLS != "auto" or not settings.PUBLIC_URL.startswith("https:") or not path.is_file():
        return None
    pem = path.read_text()
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest().upper()
    return {"pem": pem.strip(), "fingerprint": ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))}


def _get(url: str) -> tuple[int, str, bytes]:
    parts = urlsplit(url)
    assert parts.hostname  # noqa: S101  # settings read it as a URL
    if parts.scheme == "https":
        trust = ssl.create_default_context()
        authority = own_authority()
        if authority:
            trust.load_verify_locations(cadata=authority["pem"])
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=TIMEOUT, context=trust)
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT)  # type: ignore[assignment]  # its base
    try:
        connection.request("GET", parts.path, headers={"Accept": "application/json", "User-Agent": "Larder"})
        answer = connection.getresponse()
        return answer.status, answer.headers.get_content_type(), answer.read(MAX_BYTES)
    finally:
        connection.close()


def _judged(url: str, status: int, kind: str, body: bytes) -> Outcome:
    """By the rules of clients: 200, JSON by type and content, and the service for modules."""
    if status != http.HTTPStatus.OK:
        return Outcome(
            is_good=False,
            title=f"The address answers {status} instead of 200",
            text=f"Something in front of Larder answers for {url}. Clients read 404 as a host without services, and "
            "anything else as an error.",
        )
    document = _parsed(body)
    if kind != "application/json" or not isinstance(document.get("modules.v1"), str):
        return Outcome(
            is_good=False,
            title="The address answers with something else",
            text=f"{url} came back as {kind}, without the service modules.v1: something in front of Larder answers.",
        )
    return Outcome(is_good=True, title="The discovery document is right", text=f"{url} names the module registry.")


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


_check = DiscoveryCheck()
discovery = _check.outcome
