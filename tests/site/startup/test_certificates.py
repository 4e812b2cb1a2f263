"""The development CA and its leaf, checked by OpenSSL as a client would; Go checks them in test_first_run.py."""

import ssl
from datetime import timedelta
from pathlib import Path

import pytest
import time_machine
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from registry_site.startup import certificates
from registry_site.startup.certificates import Served
from tests.rows import for_each_row


def serve(folder: Path, *, public_url: str = "https://127.0.0.1:8443", tls: str = "auto", bundle: str = "") -> Served:
    files = certificates.served(
        tls, data_dir=folder, listen_host="127.0.0.1", public_url=public_url, system_bundle=bundle
    )
    assert files is not None
    return files


def shake_hands(files: Served, host: str, *, trusting: Path | None = None) -> None:
    """A whole TLS handshake in memory; raises what the client would raise."""
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(files.certificate, files.key)
    client_side = ssl.create_default_context(cafile=trusting or files.ca)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = server_side.wrap_bio(to_server, to_client, server_side=True)
    client = client_side.wrap_bio(to_client, to_server, server_hostname=host)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue


def serial(path: Path) -> int:
    return x509.load_pem_x509_certificate(path.read_bytes()).serial_number


@for_each_row("host", ["localhost", "127.0.0.1", "::1", "larder.example.org"])
def test_clients_accept_it_under_every_name(tmp_path: Path, host: str) -> None:
    files = serve(tmp_path, public_url="https://larder.example.org")
    shake_hands(files, host)
    assert files.bundle is not None
    shake_hands(files, host, trusting=files.bundle)


def test_it_is_refused_under_another_name(tmp_path: Path) -> None:
    files = serve(tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(files, "example.com")


def test_the_authority_may_not_sign_for_other_hosts(tmp_path: Path) -> None:
    files = serve(tmp_path)
    authority, key = certificates._authority(tmp_path / "tls", ["127.0.0.1", "::1", "localhost"])
    leaf_key, leaf = certificates._issue(["example.com"], authority, key)
    forged = Served(tmp_path / "forged.pem", tmp_path / "forged.key", files.ca)
    forged.certificate.write_bytes(certificates._pem(leaf))
    forged.key.write_bytes(certificates._pkcs8(leaf_key))
    with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree violation"):
        shake_hands(forged, "example.com")


def test_a_second_start_keeps_the_authority_and_the_leaf_which_lasts_as_browsers_allow(tmp_path: Path) -> None:
    first = serve(tmp_path)
    before = [path.read_bytes() for path in (first.ca, first.certificate, first.key) if path]
    second = serve(tmp_path)
    assert [path.read_bytes() for path in (second.ca, second.certificate, second.key) if path] == before
    for key in (first.key, tmp_path / "tls" / "ca.key"):  # test_modes.py has who may read them
        assert key.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----"), "PKCS #8"
    leaf = x509.load_pem_x509_certificate(first.certificate.read_bytes())
    assert leaf.not_valid_after_utc - leaf.not_valid_before_utc == timedelta(days=397)


def test_the_leaf_is_renewed_in_its_last_month_and_the_authority_stays(tmp_path: Path) -> None:
    files = serve(tmp_path)
    assert files.ca is not None
    leaf, authority = serial(files.certificate), serial(files.ca)
    with time_machine.travel(timezone.now() + timedelta(days=365)):
        serve(tmp_path)
    assert serial(files.certificate) == leaf
    with time_machine.travel(timezone.now() + timedelta(days=368)):
        serve(tmp_path)
    assert serial(files.certificate) != leaf
    assert serial(files.ca) == authority


def test_a_new_public_name_gets_a_certificate_that_is_accepted(tmp_path: Path) -> None:
    serve(tmp_path)
    shake_hands(serve(tmp_path, public_url="https://modules.example.org"), "modules.example.org")


def test_the_bundle_is_the_systems_roots_and_ours_once(tmp_path: Path) -> None:
    roots = tmp_path / "roots.pem"
    other = serve(tmp_path / "other")
    assert other.ca is not None
    roots.write_bytes(other.ca.read_bytes())
    files = serve(tmp_path, bundle=str(roots))
    assert files.bundle is not None
    assert files.ca is not None
    assert files.bundle.read_bytes() == roots.read_bytes() + files.ca.read_bytes()
    # A shell that pasted our lines has SSL_CERT_FILE set to the bundle itself.
    serve(tmp_path, bundle=str(files.bundle))
    assert files.bundle.read_bytes().count(files.ca.read_bytes()) == 1


def test_an_operators_certificate_is_served_with_its_key_as_pkcs8(tmp_path: Path) -> None:
    key = rsa.generate_private_key(65537, 2048)
    old_form = serialization.PrivateFormat.TraditionalOpenSSL
    (tmp_path / "own.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, old_form, serialization.NoEncryption())
    )
    (tmp_path / "own.pem").write_bytes(serve(tmp_path / "any").certificate.read_bytes())
    files = serve(tmp_path, tls=f"{tmp_path / 'own.pem'}:{tmp_path / 'own.key'}")
    assert files.certificate == tmp_path / "own.pem"
    assert files.key.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----")
    assert files.ca is None


@for_each_row("tls", ["on", "/nowhere/cert.pem:/nowhere/key.pem", "/nowhere/cert.pem"])
def test_other_words_are_refused_with_what_is_expected(tmp_path: Path, tls: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"expected auto, off, or /path/cert\.pem:/path/key\.pem"):
        serve(tmp_path, tls=tls)


def test_off_is_plain_http(tmp_path: Path) -> None:
    assert (
        certificates.served("off", data_dir=tmp_path, listen_host="127.0.0.1", public_url="http://127.0.0.1:8443")
        is None
    )
