"""A Sigstore of the tests: an authority for workflows, one for times, and bundles that a client can verify by them."""

import base64
import hashlib
import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat import asn1
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.builders.attestations import BUNDLE, GITHUB, envelope, statement, text

DAY = timedelta(days=1)
# Clients choose the authority by its organization.
NAME = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Larder tests")])
TRUSTED_ROOT = "application/vnd.dev.sigstore.trustedroot+json;version=0.1"
# What `openssl ts` wants to know of an authority for times.
TIMES = """\
[tsa]
default_tsa = times
[times]
serial = {0}/serial
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
"""


class Sigstore:
    """`trusted_root`: the file by which clients trust it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.root = self._certificate(self.key, x509.BasicConstraints(ca=True, path_length=0))
        self.clock_key = ec.generate_private_key(ec.SECP256R1())
        self.clock = self._certificate(self.clock_key, x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING]))
        self.trusted_root = folder / "trusted-root.jsonl"
        self.trusted_root.write_text(json.dumps(self._trusted()) + "\n")

    def bundle(self, digest: str, *, repository: str) -> bytes:
        """Return the attestation of a workflow of a repository on GitHub about these bytes. `digest`: sha256, 64 hex
        digits.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        said = envelope(statement(digest))
        payload = base64.b64decode(said["payload"])
        signed = b"DSSEv1 %d %b %d %b" % (len(said["payloadType"]), said["payloadType"].encode(), len(payload), payload)
        signature = key.sign(signed, ec.ECDSA(hashes.SHA256()))
        said["signatures"] = [{"sig": text(signature)}]
        material = {
            "certificate": _raw(self._of_workflow(key, repository)),
            "timestampVerificationData": {"rfc3161Timestamps": [{"signedTimestamp": text(self._time_of(signature))}]},
        }
        return json.dumps({"mediaType": BUNDLE, "verificationMaterial": material, "dsseEnvelope": said}).encode()

    def _of_workflow(self, key: ec.EllipticCurvePrivateKey, repository: str) -> x509.Certificate:
        """Make a certificate like Fulcio: issuer of the id token, workflow, repository and owner are in its own
        extensions.
        """
        source = f"https://github.com/{repository}"
        workflow = f"{source}/.github/workflows/release.yml@refs/tags/v1.2.0"
        own = {8: GITHUB, 9: workflow, 12: source, 16: source.rpartition("/")[0]}
        return self._certificate(
            key,
            x509.SubjectAlternativeName([x509.UniformResourceIdentifier(workflow)]),
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]),
            *(
                x509.UnrecognizedExtension(x509.ObjectIdentifier(f"1.3.6.1.4.1.57264.1.{arc}"), asn1.encode_der(value))
                for arc, value in own.items()
            ),
        )

    def _certificate(self, key: ec.EllipticCurvePrivateKey, *extensions: x509.ExtensionType) -> x509.Certificate:
        now, serial = datetime.now(UTC), x509.random_serial_number()
        built = x509.CertificateBuilder(NAME, NAME, key.public_key(), serial, now - DAY, now + DAY)
        for one in extensions:
            built = built.add_extension(one, critical=not isinstance(one, x509.UnrecognizedExtension))
        return built.sign(self.key, hashes.SHA256())

    def _time_of(self, data: bytes) -> bytes:
        """When there were these bytes, signed by the clock (RFC 3161)."""
        asked, settings, signer = (self.folder / name for name in ("asked", "tsa.cnf", "clock.pem"))
        settings.write_text(TIMES.format(self.folder))
        private = self.clock_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        signer.write_bytes(private + self.clock.public_bytes(Encoding.PEM))
        digest = hashlib.sha256(data).hexdigest()
        _openssl("ts", "-query", "-digest", digest, "-sha256", "-cert", "-out", asked)
        return _openssl("ts", "-reply", "-queryfile", asked, "-config", settings, "-signer", signer, "-inkey", signer)

    def _trusted(self) -> dict[str, Any]:
        def authority(*chain: x509.Certificate) -> dict[str, Any]:
            start = (datetime.now(UTC) - DAY).strftime("%Y-%m-%dT%H:%M:%SZ")
            return {"certChain": {"certificates": [_raw(one) for one in chain]}, "validFor": {"start": start}}

        return {
            "mediaType": TRUSTED_ROOT,
            "certificateAuthorities": [authority(self.root)],
            "timestampAuthorities": [authority(self.clock, self.root)],
        }


def _openssl(*words: str | Path) -> bytes:
    return subprocess.run(["openssl", *words], check=True, capture_output=True).stdout


def _raw(certificate: x509.Certificate) -> dict[str, str]:
    return {"rawBytes": text(certificate.public_bytes(Encoding.DER))}
