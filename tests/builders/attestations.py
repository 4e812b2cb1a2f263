"""DSSE envelopes and Sigstore bundles as clients write them. Their signatures are any bytes: Larder verifies none."""

import base64
import json
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat import asn1
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

DSSE = "application/vnd.dsse.envelope.v1+json"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
PROVENANCE = "https://slsa.dev/provenance/v1"
WORKFLOW = "https://github.com/acme/vpc/.github/workflows/release.yml@refs/tags/v1.2.0"
GITHUB = "https://token.actions.githubusercontent.com"


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def statement(*digests: str, **more: Any) -> dict[str, Any]:
    """`digests`: sha256, 64 hex digits each."""
    subjects = [{"name": f"file-{place}", "digest": {"sha256": one}} for place, one in enumerate(digests)]
    fields = {"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": PROVENANCE}
    return {**fields, "predicate": {}, **more}


def envelope(said: Any, **more: Any) -> dict[str, Any]:
    payload = said if isinstance(said, bytes) else json.dumps(said).encode()
    signatures = [{"keyid": "key-of-alice", "sig": text(b"signature")}]
    fields = {"payloadType": "application/vnd.in-toto+json", "payload": text(payload), "signatures": signatures}
    return {**fields, **more}


def dsse(*digests: str, **more: Any) -> bytes:
    return json.dumps(envelope(statement(*digests, **more))).encode()


def bundle(*digests: str, **more: Any) -> bytes:
    return json.dumps(bundled(**{"dsseEnvelope": envelope(statement(*digests)), **more})).encode()


def signed(digest: str) -> bytes:
    """A bundle with a signature of bytes alone, as `cosign sign-blob` writes it."""
    message = {"algorithm": "SHA2_256", "digest": text(bytes.fromhex(digest))}
    return json.dumps(bundled(messageSignature={"messageDigest": message, "signature": text(b"signature")})).encode()


def bundled(**more: Any) -> dict[str, Any]:
    material = {"certificate": {"rawBytes": text(certificate())}, "tlogEntries": []}
    return {"mediaType": BUNDLE, "verificationMaterial": material, **more}


@cache
def certificate(*, identity: str = WORKFLOW, issuer: str = GITHUB, plain: bool = False) -> bytes:
    """A short-lived one as Fulcio makes them, in DER. `plain`: with the older extension for the issuer."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.UniformResourceIdentifier(identity) if "://" in identity else x509.RFC822Name(identity)]
    value = issuer.encode() if plain else asn1.encode_der(issuer)
    oid = x509.ObjectIdentifier(f"1.3.6.1.4.1.57264.1.{1 if plain else 8}")
    now = datetime(2026, 11, 1, tzinfo=UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "sigstore-intermediate")]))
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(minutes=10))
        .add_extension(x509.SubjectAlternativeName(names), critical=True)
        .add_extension(x509.UnrecognizedExtension(oid, value), critical=False)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.DER)
