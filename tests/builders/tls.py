"""An authority and the certificates of TLS servers: right, expired, or signed by nobody else."""

import datetime as dt
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

DAY = dt.timedelta(days=1)


class Authority:
    def __init__(self, name: str) -> None:
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.pem = self._signed(self.name, self.key.public_key(), x509.BasicConstraints(ca=True, path_length=0))

    def server(
        self, host: str, folder: Path, *, lifetime: dt.timedelta = DAY, key: ec.EllipticCurvePrivateKey | None = None
    ) -> ssl.SSLContext:
        """Return the context of a server that has a certificate for the host."""
        key = key or ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        hosts = x509.SubjectAlternativeName([x509.DNSName(host)])
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file = folder / f"{host}.pem"
        file.write_bytes(private + self._signed(name, key.public_key(), hosts, lifetime=lifetime))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def self_signed(self, folder: Path) -> ssl.SSLContext:
        """Return the context of a server whose certificate is this authority's own."""
        private = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file = folder / "self-signed.pem"
        file.write_bytes(private + self.pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _signed(
        self,
        name: x509.Name,
        key: ec.EllipticCurvePublicKey,
        extension: x509.ExtensionType,
        *,
        lifetime: dt.timedelta = DAY,
    ) -> bytes:
        now = dt.datetime.now(dt.UTC)
        serial = x509.random_serial_number()
        built = x509.CertificateBuilder(self.name, name, key, serial, now - 2 * DAY, now + lifetime)
        return built.add_extension(extension, critical=True).sign(self.key, hashes.SHA256()).public_bytes(Encoding.PEM)
