"""Check that the sender of a webhook has its secret, as each forge shows it. All comparisons take constant time.

The secret is not empty: the caller has checked that.
"""

import base64
import binascii
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass

# A signed time may differ by this much: clocks differ, and forges repeat what failed.
MAX_AGE_SECONDS = 3600.0
# That of Standard Webhooks, so that GitLab takes the secret as a signing token as well.
PREFIX = "whsec_"


@dataclass(frozen=True, slots=True)
class Sent:
    """A request; the names of headers in lower case."""

    headers: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str:
        return self.headers.get(name.lower(), "")


def github(sent: Sent, secret: str) -> bool:
    """X-Hub-Signature-256: sha256=<hex>. The older X-Hub-Signature is SHA-1, and never enough."""
    return _is_hmac(sent, sent.header("X-Hub-Signature-256"), secret, prefix="sha256=")


def bitbucket(sent: Sent, secret: str) -> bool:
    """X-Hub-Signature names its algorithm, which is sha256."""
    return _is_hmac(sent, sent.header("X-Hub-Signature"), secret, prefix="sha256=")


def gitea(sent: Sent, secret: str) -> bool:
    """Forgejo sends both headers. If the first is there it decides."""
    return _is_hmac(sent, sent.header("X-Forgejo-Signature") or sent.header("X-Gitea-Signature"), secret)


def gitlab(sent: Sent, secret: str) -> bool:
    """The secret itself, or since GitLab 19 a signature of id, time and body as in Standard Webhooks, which decides if
    it is there.
    """
    signature = sent.header("webhook-signature")
    if not signature:
        return _is_secret(sent.header("X-Gitlab-Token"), secret)
    number, at = sent.header("webhook-id"), sent.header("webhook-timestamp")
    if not (at.isascii() and at.isdigit() and len(at) <= len("9999999999")):
        return False
    if abs(time.time() - int(at)) > MAX_AGE_SECONDS:
        return False
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        return False
    made = hmac.digest(key, f"{number}.{at}.".encode() + sent.body, "sha256")
    expected = f"v1,{base64.b64encode(made).decode()}"
    return any(_is_secret(one, expected) for one in signature.split(" "))


def basic(sent: Sent, secret: str) -> bool:
    """The secret as the password; the user name says nothing."""
    scheme, _, credentials = sent.header("Authorization").partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        text = base64.b64decode(credentials.strip(), validate=True).decode()
    except ValueError:
        return False
    return _is_secret(text.partition(":")[2], secret)


def plain(sent: Sent, secret: str) -> bool:
    """For servers that sign nothing: what a post-receive hook sends with curl. Basic is as good. Bitbucket Data Center,
    whose hosts are named by its owners, signs as Bitbucket does.
    """
    if bitbucket(sent, secret):
        return True
    scheme, _, credentials = sent.header("Authorization").partition(" ")
    return _is_secret(credentials.strip(), secret) if scheme.lower() == "bearer" else basic(sent, secret)


def _is_hmac(sent: Sent, given: str, secret: str, *, prefix: str = "") -> bool:
    made = prefix + hmac.digest(secret.encode(), sent.body, "sha256").hex()
    return _is_secret(given, made)


def _is_secret(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())
