"""The statements of the scenario: the same bytes in each run, by a key that everybody can make."""

import hashlib
import json

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from apps.lib.formats import dsse
from apps.provenance.models import Statement
from apps.releases.models import Release
from apps.signing.models import StatementKey

SECRET = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_DER = SECRET.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
_PEM = SECRET.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
KEY_ID = hashlib.sha256(_DER).hexdigest()


def place(*releases: Release) -> None:
    """A statement about each."""
    key, _ = StatementKey.objects.get_or_create(key_id=KEY_ID, defaults={"public_key": _PEM})
    for release in releases:
        payload = json.dumps({"_type": "https://in-toto.io/Statement/v1", "about": str(release)}).encode()
        signature = dsse.Signature(KEY_ID, SECRET.sign(dsse.pae(dsse.IN_TOTO, payload)))
        envelope = dsse.Envelope(dsse.IN_TOTO, payload, (signature,)).as_bytes()
        digest = hashlib.sha256(envelope).hexdigest()
        Statement.objects.create(release=release, key=key, envelope=envelope, digest=digest, size=len(envelope))
