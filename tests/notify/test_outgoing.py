"""The one client for URLs that others choose: what it refuses, and that nothing keeps it for long."""

import datetime as dt
import threading
import time
from ipaddress import ip_network
from urllib.parse import urlsplit

import pytest
import requests

from apps.accounts.identity.sign_on import provider_requests as sign_on
from apps.lib.errors import Invalid
from apps.lib.net import addresses, fetching
from apps.lib.net.outgoing import NotAnswered
from apps.lib.process import outside
from apps.lib.settings_values.outgoing import Outgoing
from tests.builders import tls
from tests.notify.receiver import says
from tests.rows import for_each_row
from tests.site.processes import eventually

LOOPBACK = (ip_network("127.0.0.0/8"),)
NAME = "hooks.acme.example"


def post(url, allowed=LOOPBACK, ca_file="", **headers):
    return fetching.post(url, body=b"{}", headers=headers, way=Outgoing(allowed, ca_file))


def test_one_bad_address_among_good_ones_refuses_them_all(resolved, no_connection):
    resolved(["203.0.114.7", "10.0.0.1"])

    with pytest.raises(NotAnswered, match="may not call"):
        post(f"https://{NAME}/", allowed=())


@for_each_row("url", [f"http://{NAME}/", f"https://{NAME}:8443/", f"https://{NAME}:22/"])
def test_public_addresses_are_called_by_https_on_its_port_alone(url, resolved, no_connection):
    resolved(["203.0.114.7"])

    with pytest.raises(NotAnswered, match="may not call"):
        post(url, allowed=())


@for_each_row(
    "url",
    [
        "",
        "hooks.acme.example",
        "ftp://hooks.acme.example/",
        "file:///etc/passwd",
        "https://",
        "https://user:password@hooks.acme.example/",
        "https://hooks.acme.example:port/",
        "https://hooks.acme.example/a b",
        "https://hooks.acme.example/\r\nHost: other",
        "https://hooks.acme.example/ä",
        "https://[::1/",
        f"https://hooks.acme.example/{'a' * 500}",
    ],
)
def test_what_is_no_url_is_refused(url):
    with pytest.raises(Invalid) as refused:
        addresses.check_url(url)
    assert refused.value.hint


@for_each_row("name", ["127.1", "2130706433", "0x7f.1", "localhost"])
def test_other_notations_of_an_address_lead_nowhere(name):
    with pytest.raises(NotAnswered, match=r"may not call|resolved"):
        post(f"https://{name}/", allowed=())


def test_the_name_is_resolved_once_and_the_connection_goes_there(receiver, resolved):
    """A name server that answers otherwise the second time (DNS rebinding) is not asked."""
    there = receiver(says(200, b"thanks"))
    asked = resolved(["127.0.0.1"], ["10.0.0.1"])

    answer = post(f"http://{NAME}:{there.port}/larder?x=1", **{"webhook-id": "msg_1"})

    assert (answer.status, answer.text, answer.is_success) == (200, "thanks", True)
    assert asked == [NAME]
    [got] = there.received
    assert (got.path, got.body) == ("/larder?x=1", b"{}")
    assert got.headers["host"] == f"{NAME}:{there.port}"
    assert got.headers["webhook-id"] == "msg_1"


def test_a_redirect_is_an_answer_and_not_followed(receiver):
    secret = receiver(says(200))
    there = receiver(says(307, Location=secret.url))

    answer = post(there.url)

    assert (answer.status, answer.is_success) == (307, False)
    assert secret.received == []


def test_an_endless_answer_is_read_in_part(receiver):
    def gigabyte(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(1024**3))
        handler.end_headers()
        while True:
            handler.wfile.write(b"x" * 65536)

    answer = post(receiver(gigabyte).url)

    assert answer.is_success
    assert answer.text == "x" * fetching.MAX_ANSWER_BYTES


@for_each_row("first", [b"", b"HTTP/1.1 ", b"HTTP/1.1 200 OK\r\nX-Long: "])
def test_a_receiver_that_hangs_or_drips_is_cut_off(first, receiver, monkeypatch):
    monkeypatch.setattr(fetching, "MAX_SECONDS", 0.4)

    def slow(handler):
        handler.wfile.write(first)
        while not there.over.wait(0.05):
            if first:
                handler.wfile.write(b"1")

    there = receiver(slow)
    began = time.monotonic()
    with pytest.raises(NotAnswered, match="no answer within"):
        post(there.url)
    assert time.monotonic() - began < 5


def test_a_body_that_drips_costs_no_more_than_the_time_and_is_delivered(receiver, monkeypatch):
    monkeypatch.setattr(fetching, "MAX_SECONDS", 0.4)

    def slow(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        while not there.over.wait(0.05):
            handler.wfile.write(b"x")

    there = receiver(slow)
    assert post(there.url).is_success


def test_what_does_not_speak_http_is_a_failure(receiver):
    there = receiver(lambda handler: handler.wfile.write(b"220 mail.acme.example ESMTP\r\n"))

    with pytest.raises(NotAnswered, match="the connection failed: BadStatusLine"):
        post(there.url)


@pytest.fixture
def authority(tmp_path, monkeypatch):
    """This process trusts it as operators have it do: by SSL_CERT_FILE. The context is the one of every webhook."""
    made = tls.Authority("Acme CA")
    file = tmp_path / "ca.pem"
    file.write_bytes(made.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    fetching.trusting.cache_clear()
    yield made
    fetching.trusting.cache_clear()


@pytest.fixture
def tls_receiver(receiver, resolved, tmp_path):
    """`tls_receiver(authority)`: one with a certificate for NAME; every name leads there."""

    def start(authority, **certificate):
        context = authority.server(NAME, tmp_path, **certificate)
        resolved(["127.0.0.1"])
        return receiver(says(200), wrap=lambda sock: context.wrap_socket(sock, server_side=True))

    return start


def test_a_certificate_of_a_trusted_authority_for_the_name_is_accepted(authority, tls_receiver):
    there = tls_receiver(authority)
    assert post(f"https://{NAME}:{there.port}/").is_success
    assert len(there.received) == 1


def test_a_certificate_of_an_authority_of_the_file_is_accepted(tls_receiver, tmp_path):
    private = tls.Authority("Acme's own")
    (tmp_path / "ca.crt").write_bytes(private.pem)
    there = tls_receiver(private)

    assert post(f"https://{NAME}:{there.port}/", ca_file=str(tmp_path / "ca.crt")).is_success
    with pytest.raises(NotAnswered, match="LARDER_OUTGOING_CA_FILE cannot be read"):
        post(f"https://{NAME}:{there.port}/", ca_file=str(tmp_path / "gone.crt"))


@for_each_row(
    ("fault", "told"),
    [
        ("another authority", "unable to get local issuer"),
        ("signs itself", "self"),
        ("another name", "Hostname mismatch"),
        ("expired", "expired"),
    ],
)
def test_a_certificate_with_a_fault_is_refused(fault, told, authority, tls_receiver):
    signer = {"another authority": tls.Authority("Evil CA"), "signs itself": tls.Authority(NAME)}.get(fault, authority)
    more = {"signs itself": {"key": signer.key}, "expired": {"lifetime": -dt.timedelta(minutes=1)}}.get(fault, {})
    there = tls_receiver(signer, **more)
    name = "other.acme.example" if fault == "another name" else NAME
    with pytest.raises(NotAnswered, match=f"certificate is not trusted.*{told}"):
        post(f"https://{name}:{there.port}/")
    assert there.received == []


def test_a_token_endpoint_needs_a_trusted_certificate_too(authority, tls_receiver):
    sign_on._trusted.cache_clear()
    trusted = tls_receiver(authority)
    answer = sign_on.Session().post(f"https://{NAME}:{trusted.port}/token", data={"code": "a b"})
    other = tls_receiver(tls.Authority("Evil CA"))
    with pytest.raises(requests.exceptions.SSLError, match="certificate is not trusted"):
        sign_on.Session().post(f"https://{NAME}:{other.port}/token", data={"code": "a b"})
    sign_on._trusted.cache_clear()

    assert answer.status_code == 200
    [got] = trusted.received
    assert (got.body, got.headers["content-type"]) == (b"code=a+b", "application/x-www-form-urlencoded")
    assert other.received == []


def test_a_host_that_is_away_is_asked_by_the_watch_and_by_nobody_else(receiver, monkeypatch):
    monkeypatch.setattr(outside, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(outside, "_circuits", {})
    monkeypatch.setattr(outside, "_watch", threading.Event())
    outside._watch.set()  # this test looks
    where = urlsplit(receiver(says(200)).url)
    route = fetching.Route(allowed=LOOPBACK)
    for _ in range(outside.MAX_FAILURES):
        with pytest.raises(NotAnswered), fetching.guarding(outside.ISSUERS, where, route):
            raise NotAnswered("no answer")
    with pytest.raises(NotAnswered) as refused, fetching.guarding(outside.ISSUERS, where, route):
        pass
    assert refused.value.code == fetching.LEFT_ALONE
    circuit = outside._circuits[outside.ISSUERS, where.netloc]
    circuit.look()
    eventually(lambda: not circuit.is_open, what="an answer")
