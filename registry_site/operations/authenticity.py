"""Proof of a backup's author: an HMAC over its manifest, under a key from the secret key, which is in no backup.

The manifest has the checksums of everything else, so that one proof covers all. A bucket, or who writes to it, has no
such key; encryption proves nothing, since public keys are public. Each line of LARDER_SECRET_KEY_FILE verifies, the
first one signs: a backup of before a rotation is verified by the older line, or by the file of `backup --keys`.
"""

import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

FILE = "manifest.mac"
_FORM = "hmac-sha256"
_PURPOSE = b"larder.backup-manifest.v1"


def proof_of(manifest: bytes) -> bytes:
    """Return the content of FILE, by this host's secret key. Raises ImproperlyConfigured without one."""
    return f"{_FORM} {_digest(settings.SECRET_KEY, manifest)}\n".encode()


def problem_with(manifest: bytes, proof: Path, secret_keys: list[str]) -> str:
    """Say why the backup does not prove that a Larder with one of these keys wrote it; empty if it does."""
    try:
        form, _, digest = proof.read_text(encoding="ascii").strip().partition(" ")
    except FileNotFoundError:
        return f"it has no {FILE}. An earlier version of Larder wrote it, or someone else"
    except (OSError, ValueError):
        return f"its {FILE} cannot be read"
    if form != _FORM:
        return f"its {FILE} begins with {form[:40]!a}, expected {_FORM}"
    if not secret_keys:
        return "this host has no secret key to verify it with"
    if not any(hmac.compare_digest(digest.encode(), _digest(key, manifest).encode()) for key in secret_keys):
        return f"its {FILE} was not made with a secret key of this host"
    return ""


def secret_keys(saved: str = "") -> list[str]:
    """Return this host's keys, and those of a file of `backup --keys`, one a line."""
    return list(dict.fromkeys([*_own(), *(line for part in saved.split("\n") if (line := part.strip()))]))


def _own() -> Iterator[str]:
    try:
        yield settings.SECRET_KEY
    except ImproperlyConfigured:  # a new host
        return
    yield from settings.SECRET_KEY_FALLBACKS


def _digest(secret_key: str, manifest: bytes) -> str:
    key = hmac.new(secret_key.encode(), _PURPOSE, hashlib.sha256).digest()
    return hmac.new(key, manifest, hashlib.sha256).hexdigest()
