"""Certificates for TLS: from a development CA in the data folder, or the operator's own (D21).

People trust the CA, so it may sign only for the hosts of this Larder (name constraints, RFC 5280 section 4.2.1.10),
and its key stays in the data folder with mode 0600.
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from django.core.exceptions import ImproperlyConfigured

from registry_site.server.files import replace

CA_LIFETIME = timedelta(days=3652)
# Browsers and Apple's platforms refuse server certificates with a lifetime of more than 398 days.
LEAF_LIFETIME = timedelta(days=397)
RENEW_BEFORE = timedelta(days=30)
CLOCK_SKEW = timedelta(hours=1)
ALWAYS = ("localhost", "127.0.0.1", "::1")
SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch, Gentoo
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # Alpine, macOS, BSD
    "/opt/homebrew/etc/openssl@3/cert.pem",
)


@dataclass(frozen=True)
class Served:
    """The files of the web server; `ca` and `bundle` only with the development CA."""

    certificate: Path
    key: Path
    ca: Path | None = None
    bundle: Path | None = None


def served(tls: str, *, data_dir: Path, listen_host: str, public_url: str, system_bundle: str = "") -> Served | None:
    """Create or renew the files for LARDER_TLS and return their paths; None for plain HTTP."""
    if tls == "off":
        return None
    folder = data_dir / "tls"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if tls != "auto":
        # The operator's certificate, and a copy of the key as PKCS#8, the only form that granian reads.
        certificate, _, key = tls.rpartition(":")
        for path in (certificate, key):
            if not path or not Path(path).is_file():
                raise ImproperlyConfigured(f"LARDER_TLS={tls!r}: expected auto, off, or /path/cert.pem:/path/key.pem")
        try:
            private = serialization.load_pem_private_key(Path(key).read_bytes(), None)
        except (TypeError, ValueError) as error:
            raise ImproperlyConfigured(f"LARDER_TLS: {key} contains no PEM key without a passphrase: {error}") from None
        replace(folder / "given.key", _pkcs8(private), mode=0o600)
        return Served(Path(certificate).resolve(), folder / "given.key")
    hosts = names_for(listen_host, urlsplit(public_url).hostname or "")
    files = Served(folder / "server.pem", folder / "server.key", folder / "ca.pem", folder / "bundle.pem")
    authority, authority_key = _authority(folder, hosts)
    if not _is_current(files.certificate, files.key, authority, hosts):
        leaf_key, leaf = _issue(hosts, authority, authority_key)
        replace(files.key, _pkcs8(leaf_key), mode=0o600)
        replace(files.certificate, _pem(leaf), mode=0o644)
    trusted = system_roots(system_bundle, besides=folder / "bundle.pem")
    replace(folder / "bundle.pem", trusted + _pem(authority), mode=0o644)
    return files


def served_file(tls: str, data_dir: Path) -> Path | None:
    """Return where the served certificate is, without creating one; None for plain HTTP."""
    if tls == "off":
        return None
    return data_dir / "tls" / "server.pem" if tls == "auto" else Path(tls.rpartition(":")[0])


def names_for(listen_host: str, public_host: str) -> list[str]:
    """Return every host name or address of this Larder, sorted, without the wildcards 0.0.0.0 and ::."""
    wanted = {*ALWAYS, listen_host, public_host}
    return sorted(name for name in wanted if name and name not in ("0.0.0.0", "::"))  # noqa: S104


def system_roots(preferred: str, *, besides: Path) -> bytes:
    """Return the machine's trusted roots as PEM; empty if there is no such file.

    `preferred` is SSL_CERT_FILE, ignored if it is our own bundle (`besides`), as in a shell with our pasted lines.
    """
    candidates = [preferred, ssl.get_default_verify_paths().cafile or "", *SYSTEM_BUNDLES]
    for candidate in map(Path, filter(None, candidates)):
        if candidate.is_file() and candidate.resolve() != besides.resolve():
            return candidate.read_bytes().rstrip(b"\n") + b"\n"
    return b""


def _authority(folder: Path, hosts: list[str]) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Return the folder's CA; create one if there is none, it ends soon, or it may not sign for a host."""
    path, key_path = folder / "ca.pem", folder / "ca.key"
    if path.is_file() and key_path.is_file():
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        key = serialization.load_pem_private_key(key_path.read_bytes(), None)
        outlives = certificate.not_valid_after_utc > _now() + LEAF_LIFETIME
        if isinstance(key, ec.EllipticCurvePrivateKey) and outlives and _may_sign_for(certificate) >= set(hosts):
            return certificate, key
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Larder"),
            # Trust stores look up issuers by name, so each CA needs another one.
            x509.NameAttribute(NameOID.COMMON_NAME, f"Larder development CA {x509.random_serial_number() % 10**6:06d}"),
        ]
    )
    builder = (
        _builder(name, name, key.public_key(), CA_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.NameConstraints([_general_name(host, ip_network) for host in hosts], None), critical=True)
    )
    certificate = builder.sign(key, hashes.SHA256())
    replace(key_path, _pkcs8(key), mode=0o600)
    replace(path, _pem(certificate), mode=0o644)
    return certificate, key


def _issue(
    hosts: list[str], authority: x509.Certificate, authority_key: ec.EllipticCurvePrivateKey
) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Larder")])
    issuer_key = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    builder = (
        _builder(name, authority.subject, key.public_key(), LEAF_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_key), critical=False)
    )
    return key, builder.sign(authority_key, hashes.SHA256())


def names_of(certificate: x509.Certificate) -> list[str]:
    """Return the host names and addresses for which clients accept it."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [_text(name) for name in names]


def is_for(certificate: x509.Certificate, host: str) -> bool:
    names = names_of(certificate)
    return host in names or f"*.{host.partition('.')[2]}" in names


def _is_current(path: Path, key_path: Path, authority: x509.Certificate, hosts: list[str]) -> bool:
    if not (path.is_file() and key_path.is_file()):
        return False
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # noqa: BLE001 - backends raise different errors, and a new certificate solves all of them
        return False
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    is_fresh = certificate.not_valid_after_utc - _now() > RENEW_BEFORE
    return is_fresh and {_text(name) for name in names} == set(hosts)


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey, lifetime: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_now() - CLOCK_SKEW)
        .not_valid_after(_now() - CLOCK_SKEW + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str, address: Callable[[str], Any] = ip_address) -> x509.GeneralName:
    """An address, or with `ip_network` the network of that one address, as name constraints want it; or a DNS name."""
    try:
        return x509.IPAddress(address(host))
    except ValueError:
        return x509.DNSName(host)


def _may_sign_for(authority: x509.Certificate) -> set[str]:
    try:
        constraints = authority.extensions.get_extension_for_class(x509.NameConstraints).value
    except x509.ExtensionNotFound:
        return set()
    return {_text(name) for name in constraints.permitted_subtrees or ()}


def _text(name: x509.GeneralName) -> str:
    """Return `127.0.0.1` for the address and for the network of that one address."""
    return str(name.value).removesuffix("/32").removesuffix("/128")


def _pkcs8(key: PrivateKeyTypes) -> bytes:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _now() -> datetime:
    return datetime.now(UTC)


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of the certificate as trust stores show it."""
    return x509.load_pem_x509_certificate(path.read_bytes()).fingerprint(hashes.SHA256()).hex(":").upper()
