"""Signatures of Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over id, time and body."""

import base64
import hmac
import secrets
from collections.abc import Iterable

PREFIX = "whsec_"
PURPOSE = "webhook"  # of the sealed secret
_BYTES = 32


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def headers_of(message_id: str, timestamp: int, body: bytes, keys: Iterable[str]) -> dict[str, str]:
    """Return the three headers. A second secret signs as well while the first one is new."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    signatures = " ".join(f"v1,{_signature(secret, signed)}" for secret in keys)
    return {"webhook-id": message_id, "webhook-timestamp": str(timestamp), "webhook-signature": signatures}


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
