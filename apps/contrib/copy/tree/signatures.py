"""Checks what a registry has signed, with its public keys and nothing else: no database, no settings."""

import hashlib
import re
from collections.abc import Callable
from contextlib import suppress

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from apps.lib.formats import dsse

Keys = dict[str, Ed25519PublicKey]
_PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----.+?-----END PUBLIC KEY-----", re.DOTALL)


class NotSigned(ValueError):
    """The text says what was found, after the name of the file."""


class OtherKey(NotSigned):
    """None of the keys has signed it. The text is the id of the key that has."""


def keys_in(pem: bytes) -> Keys:
    """Read public keys of registries, several in a row, by their ids: the SHA-256 of the DER form."""
    found: Keys = {}
    for block in _PEM.findall(pem):
        with suppress(ValueError):
            key = load_pem_public_key(block)
            if isinstance(key, Ed25519PublicKey):
                der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
                found[hashlib.sha256(der).hexdigest()] = key
    return found


def verified(envelope: bytes, kind: str, key_of: Callable[[str], Ed25519PublicKey | None]) -> tuple[bytes, str]:
    """Return the payload of that type, and the id of the key that signed it. Raises NotSigned, OtherKey.

    `key_of` returns the key with an id if it is trusted.
    """
    try:
        found = dsse.parse(envelope)
    except dsse.Malformed as problem:
        raise NotSigned(f"has {problem}, expected a DSSE envelope") from None
    if found.payload_type != kind:
        raise NotSigned(f"is of the type {found.payload_type[:100]}, expected {kind}")
    for one in found.signatures:
        if (key := key_of(one.key_id)) is None:
            continue
        try:
            key.verify(one.signature, dsse.pae(kind, found.payload))
        except InvalidSignature:
            raise NotSigned(f"is not by the key {one.key_id}: it was changed, or another key signed it") from None
        return found.payload, one.key_id
    raise OtherKey(found.signatures[0].key_id[:64])
