"""Git servers whose TLS fails: what was found is said, and what to do, whether Larder's client or git meets it."""

import ssl
from collections.abc import Callable
from pathlib import Path

from apps.contrib.git.remote import children, failures, refs
from apps.contrib.git.remote.stores import Store
from apps.contrib.git.tests.remote.asking import access_to, remote_of
from tests.builders.git_servers import Site, git_site
from tests.builders.tls import DAY, Authority
from tests.needs import needs
from tests.rows import for_each_row

SETTING = "LARDER_OUTGOING_CA_FILE"
Context = Callable[[Authority, Path], ssl.SSLContext]


def _self_signed(_: Authority, folder: Path) -> ssl.SSLContext:
    return Authority("localhost").self_signed(folder)


def _unusual(authority: Authority, folder: Path) -> ssl.SSLContext:
    """With ciphers that no client offers. (Of old versions an OpenSSL may say nothing before it ends.)"""
    context = authority.server("localhost", folder)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("eNULL:@SECLEVEL=0")
    return context


BAD: list[tuple[Context, str, str, str]] = [
    (_self_signed, "not_trusted", "The server's certificate is self-signed. (self-signed certificate)", SETTING),
    (
        lambda _, folder: Authority("Other").server("localhost", folder),
        "not_trusted",
        "The server's certificate is from an authority that Larder does not know.",
        SETTING,
    ),
    (
        lambda authority, folder: authority.server("git.acme.example", folder),
        "not_trusted",
        "for another host name. (Hostname mismatch, certificate is not valid for 'localhost')",
        "A file of authorities does not help.",
    ),
    (
        lambda authority, folder: authority.server("localhost", folder, lifetime=-DAY),
        "not_trusted",
        "The server's certificate has expired.",
        "renew it",
    ),
    (_unusual, "tls_failed", "no version or cipher of TLS in common", "TLS 1.2 or 1.3"),
]


@needs("git")
@for_each_row(("context", "code", "text", "hint"), BAD)
def test_a_server_with_bad_tls_is_explained_with_what_to_do(
    context, code, text, hint, tmp_path_factory, limits, refusal
):
    folder = tmp_path_factory.mktemp("site")
    with git_site(folder, context=context) as site:
        site.repository("acme/vpc").commit({"main.tf": ""})
        refused = refusal(refs.listed, remote_of(site, "acme/vpc"), access_to(site), limits)

    assert (refused.code, refused.is_final) == (code, False)
    assert text in str(refused)
    assert hint in refused.hint


@needs("git")
def test_a_port_that_does_not_speak_tls_is_said(tmp_path, limits, refusal):
    with git_site(tmp_path, https=False) as plain:
        site = Site(plain.folder, plain.url.replace("http:", "https:"), "")
        refused = refusal(refs.listed, remote_of(site, "acme/vpc"), access_to(site), limits)

    assert (refused.code, str(refused)) == ("tls_failed", "The server does not use TLS. (wrong version number)")
    assert "Check the port" in refused.hint


@needs("git")
@for_each_row(("context", "code", "hint"), [(context, code, hint) for context, code, _, hint in BAD[:4]])
def test_git_itself_is_explained_alike_if_it_trusts_less_than_larder(
    context, code, hint, tmp_path_factory, limits, refusal, monkeypatch
):
    """Larder's client has seen nothing wrong, as with another library of TLS."""
    monkeypatch.setattr("apps.contrib.git.remote.refs.located", lambda remote, *_: remote)
    folder = tmp_path_factory.mktemp("site")
    with git_site(folder, context=context) as site:
        site.repository("acme/vpc").commit({"main.tf": ""})
        store = Store(folder, "repository", children.Clock(60), limits)
        store.create()
        refused = refusal(store.fetch, remote_of(site, "acme/vpc"), access_to(site), "HEAD")

    assert refused.code == code
    assert str(folder) not in str(refused)
    assert refused.hint


GNUTLS_AND_OPENSSL = [
    ("server certificate verification failed. CAfile: /tmp/x.pem CRLfile: none", "not_trusted", "is not trusted"),
    ("SSL certificate verification failed: The certificate issuer is unknown.  (CAfile: /x)", "not_trusted", "know"),
    ("SSL certificate verification failed: The certificate chain uses expired certificate.", "not_trusted", "expired"),
    ("SSL certificate problem: unable to get local issuer certificate", "not_trusted", "does not know"),
    ("SSL certificate problem: self-signed certificate in certificate chain", "not_trusted", "does not know"),
    ("SSL certificate problem: self signed certificate", "not_trusted", "is self-signed"),
    ("SSL certificate problem: certificate has expired", "not_trusted", "has expired"),
    ("SSL certificate problem: certificate is not yet valid", "not_trusted", "is not valid yet"),
    (
        "SSL: certificate subject name (git.acme.example) does not match target host name 'localhost'",
        "not_trusted",
        "for another host name",
    ),
    (
        "SSL: no alternative certificate subject name matches target host name 'localhost'",
        "not_trusted",
        "for another host name",
    ),
    ("gnutls_handshake() failed: A TLS fatal alert has been received.", "tls_failed", "ended the TLS connection"),
    ("gnutls_handshake() failed: An unexpected TLS packet was received.", "tls_failed", "does not use TLS"),
    ("gnutls_handshake() failed: Handshake failed", "tls_failed", "in common"),
    ("gnutls_handshake() failed: Certificate is required", "tls_failed", "client certificate"),
    ("GnuTLS recv error (-110): The TLS connection was non-properly terminated.", "tls_failed", "ended the TLS"),
    ("error:0A000410:SSL routines::sslv3 alert handshake failure", "tls_failed", "in common"),
    ("TLS connect error: error:0A0000C6:SSL routines::packet length too long", "tls_failed", "ended the TLS"),
    ("OpenSSL SSL_connect: Connection reset by peer in connection to localhost:443 ", "tls_failed", "ended the TLS"),
    ("error:0A00010B:SSL routines::wrong version number", "tls_failed", "does not use TLS"),
    ("tlsv13 alert certificate required: SSL alert number 116", "tls_failed", "client certificate"),
]


@for_each_row(("said", "code", "text"), GNUTLS_AND_OPENSSL)
def test_the_words_of_both_libraries_are_understood(said, code, text, tmp_path):
    site = Site(tmp_path, "https://localhost", "")
    output = f"fatal: unable to access 'https://localhost/acme/vpc.git/': {said}\n"

    found = failures.of_output(output, 128, remote_of(site, "acme/vpc"), access_to(site))

    assert (found.code, found.is_final) == (code, False)
    assert text in str(found)
    assert found.hint
    assert "CAfile" not in str(found)


def test_a_transfer_that_breaks_off_is_no_fault_of_tls(tmp_path):
    site = Site(tmp_path, "https://localhost", "")
    said = "error: RPC failed; curl 56 GnuTLS recv error (-110): The TLS connection was non-properly terminated.\n"

    assert failures.of_output(said, 128, remote_of(site, "acme/vpc"), access_to(site)).code == "truncated"
