"""The check on /how-to-use: asks for the discovery document as a client does, and keeps and shows no secret."""

import hashlib
import json
import socket
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Scope
from apps.portal.help import how_to
from apps.portal.help.how_to import DiscoveryCheck
from registry_site.startup import certificates
from tests import pages
from tests.rows import for_each_row

URL = "/how-to-use"
GOOD = json.dumps({"modules.v1": "/v1/modules/"}).encode()


@pytest.fixture(autouse=True)
def discovery_of_this_test(monkeypatch):
    """The outcome is remembered for some seconds: not from one test to the next."""
    monkeypatch.setattr(how_to, "discovery", DiscoveryCheck().outcome)


@pytest.fixture
def answering(settings):
    """`answering(200, "application/json", b"…")` answers at the public address; returns the request."""
    servers = []

    def serve(status: int, kind: str, body: bytes, tls: Path | None = None) -> list[str]:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls / "server.pem", tls / "server.key")
            server.socket = context.wrap_socket(server.socket, server_side=True)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        settings.TLS = "off" if tls is None else "auto"
        settings.PUBLIC_URL = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
        return asked

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def check(client: Client, secret: str = ""):
    return client.post(URL, {"token": secret})


def test_a_token_that_counts_is_described_not_used_and_never_echoed(client, alice, acme, pantry, hall, answering):
    answering(200, "application/json", GOOD)
    token, secret = tokens.issue(user=alice, label="CI", scope=Scope.PUBLISH, namespaces=[acme], actor=Viewer(alice))

    response = check(client, f" {secret}\n")
    page = pages.text_of(response)

    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "no-store"
    assert "This token is valid" in page
    assert "<dd>alice</dd>" in page
    assert "<dd>publish</dd>" in page
    assert "<dd>acme, pantry</dd>" in page  # public namespaces are read with any token
    assert "<dt>Publishes in</dt><dd>acme</dd>" in page
    assert secret not in page
    assert hashlib.sha256(secret.encode()).hexdigest() not in page
    token.refresh_from_db()
    assert token.last_used_at is None, "looking at a token is no use of it"


@for_each_row(("how", "why"), [("unknown", "is unknown"), ("revoked", "was revoked"), ("cut", "is unknown")])
def test_a_token_that_does_not_count_says_why(client, alice, answering, how, why):
    answering(200, "application/json", GOOD)
    token, secret = tokens.issue(user=alice, label="CI", scope=Scope.READ, actor=Viewer(alice))
    if how == "revoked":
        tokens.revoke(token=token, actor=Viewer(alice))
    pasted = {"unknown": tokens.new_secret(), "revoked": secret, "cut": secret[:-1]}[how]

    page = pages.text_of(check(client, pasted))

    assert why in page
    assert "alice" not in page
    assert pasted not in page


def test_the_token_is_taken_from_no_address_and_refused_beside_its_field_if_it_is_too_long(client, alice, answering):
    answering(200, "application/json", GOOD)
    _, secret = tokens.issue(user=alice, label="CI", scope=Scope.READ, actor=Viewer(alice))

    assert "This token is valid" not in pages.text_of(client.get(URL, {"token": secret}))
    refused = check(client, "x" * 201)
    assert refused.status_code == 422
    assert "xxx" not in pages.text_of(refused)


@pytest.mark.parametrize(
    ("status", "kind", "body", "said"),
    [
        (200, "application/json", GOOD, "The discovery document is valid"),
        (200, "application/json; charset=utf-8", GOOD, "The discovery document is valid"),
        (404, "text/html", b"", "returns 404 instead of 200"),
        (302, "text/html", b"", "returns 302 instead of 200"),
        (200, "text/html", b"<h1>Welcome</h1>", "returns other content"),
        (200, "text/plain", GOOD, "returns other content"),
        (200, "application/json", b"[]", "returns other content"),
        (200, "application/json", b"{", "returns other content"),
        (200, "application/json", b'{"modules.v1": {}}', "returns other content"),
    ],
    ids=["right", "charset", "404", "redirect", "page", "type", "list", "broken", "object"],
)
def test_the_discovery_document_is_judged_as_clients_judge_it(client, db, answering, status, kind, body, said):
    asked = answering(status, kind, body)

    assert said in pages.text_of(check(client))
    assert asked == ["/.well-known/terraform.json"]


def test_asking_again_and_again_costs_one_request_and_where_nobody_answers_it_says_so(
    client, db, settings, answering, monkeypatch
):
    asked = answering(200, "application/json", GOOD)
    for _ in range(5):
        check(client)

    assert len(asked) == 1
    monkeypatch.setattr(how_to, "discovery", DiscoveryCheck().outcome)
    settings.PUBLIC_URL = "http://127.0.0.1:1"
    assert "Larder cannot reach its own address" in pages.text_of(check(client))


def test_the_authority_of_its_own_is_trusted_by_the_check_and_another_is_not(settings, tmp_path, answering):
    """Over TLS, as clients ask: first with the authority that signed, then with another one in its place."""
    for name in ("signing", "other"):
        certificates.served("auto", data_dir=tmp_path / name, listen_host="127.0.0.1", public_url="https://127.0.0.1")
    answering(200, "application/json", GOOD, tls=tmp_path / "signing" / "tls")

    settings.DATA_DIR = tmp_path / "signing"
    assert DiscoveryCheck().outcome().is_good
    settings.DATA_DIR = tmp_path / "other"
    assert DiscoveryCheck().outcome().title == "The certificate is not trusted here"


def test_a_check_does_not_wait_for_another_one_and_a_server_that_says_nothing_is_given_up(settings, monkeypatch):
    monkeypatch.setattr(how_to, "MAX_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.PUBLIC_URL = f"http://127.0.0.1:{silent.getsockname()[1]}"
        one, found = DiscoveryCheck(), []
        first = threading.Thread(target=lambda: found.append(one.outcome()))
        began = time.monotonic()
        first.start()
        accepted, _ = silent.accept()
        assert one.outcome().title == "The address is being checked"
        assert time.monotonic() - began < 0.9
        first.join(5)
        accepted.close()
    assert [outcome.title for outcome in found] == ["Larder cannot reach its own address"]
    assert time.monotonic() - began < 4
