"""Secrets that Larder must be able to read again, encrypted in the database: a dump of it alone is of no use."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from apps.lib.errors import Unavailable


def seal(text: str, purpose: str) -> str:
    return cipher(purpose).encrypt(text.encode()).decode()


def unseal(sealed: str, purpose: str) -> str:
    """Raises Unavailable where the secret key is another one."""
    try:
        return cipher(purpose).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Unavailable(
            "A stored secret was encrypted with another secret key.",
            hint="Use the secret key file that encrypted it on every host (LARDER_SECRET_KEY_FILE).",
        ) from None


def cipher(purpose: str) -> MultiFernet:
    """Under keys from the secret key and its predecessors; what one purpose encrypted, no other opens."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = (hashlib.sha256(f"larder.{purpose}".encode() + key.encode()).digest() for key in keys)
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
