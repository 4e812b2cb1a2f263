"""DSSE envelopes (github.com/secure-systems-lab/dsse, v1): JSON with a payload, its type, and signatures of both.

What is signed is `pae`, not the JSON: so the type cannot be exchanged, and no JSON is read before it is verified.
"""

import base64
import binascii
import json
from dataclasses import dataclass

MEDIA_TYPE = "application/vnd.dsse.envelope.v1+json"
IN_TOTO = "application/vnd.in-toto+json"


class Malformed(ValueError):
    """The text says what was found."""


@dataclass(frozen=True, slots=True)
class Signature:
    key_id: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    payload_type: str
    payload: bytes
    signatures: tuple[Signature, ...]

    def as_bytes(self) -> bytes:
        """The same envelope always has the same bytes."""
        document = {
            "payload": _encoded(self.payload),
            "payloadType": self.payload_type,
            "signatures": [{"keyid": one.key_id, "sig": _encoded(one.signature)} for one in self.signatures],
        }
        return json.dumps(document, separators=(",", ":")).encode()


def pae(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes that are signed: the pre-authentication encoding."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def parse(data: bytes) -> Envelope:
    """Raises Malformed."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise Malformed("no JSON") from None
    if not isinstance(document, dict):
        raise Malformed("JSON that is not an object")
    payload_type, signatures = document.get("payloadType"), document.get("signatures")
    if not isinstance(payload_type, str) or not payload_type:
        raise Malformed("no payloadType")
    if not isinstance(signatures, list) or not signatures:
        raise Malformed("no signatures")
    return Envelope(payload_type, _decoded(document, "payload"), tuple(_signature(one) for one in signatures))


def bytes_of(value: object) -> bytes | None:
    """Return what a field in base64 has, of either alphabet; None for what is none, or nothing."""
    if not isinstance(value, str) or not value:
        return None
    try:
        return base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None


def _signature(found: object) -> Signature:
    if not isinstance(found, dict):
        raise Malformed("a signature that is not an object")
    key_id = found.get("keyid", "")
    if not isinstance(key_id, str):
        raise Malformed("a keyid that is not text")
    return Signature(key_id, _decoded(found, "sig"))


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decoded(document: dict[str, object], name: str) -> bytes:
    text = document.get(name)
    if not isinstance(text, str) or not text:
        raise Malformed(f"no {name}")
    found = bytes_of(text)
    if found is None:
        raise Malformed(f"a {name} that is not base64")
    return found
