"""The one client for URLs that others choose: what it refuses, and that nothing keeps it for long."""

import socket
import ssl
from ipaddress import ip_network

import pytest

from apps.lib import outgoing
from apps.lib.errors import Invalid
from registry_site.startup import certificates
from tests.notify.receiver import says

LOOPBACK = (ip_network("127.0.0.0/8"),)
NAME = "hooks.acme.example"
NEVER = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "255.255.255.255",
    "224.0.0.1",
    "192.0.2.1",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "64:ff9b::a00:1",
    "64:ff9b:1::a00:1",
    "2002:a00:1::1",
    "2001:0:a00:1::1",
]


@pytest.fixture
def resolved(monkeypatch):
    """`resolved("10.0.0.1", "10.0.0.2")`: to these the name resolves, one after the other; returns the questions."""

    def to(*answers: list[str]):
        asked, queue = [], list(answers)

        def getaddrinfo(host, port, *_, **__):
            asked.append(host)
            found = queue.pop(0)
            families = [socket.AF_INET6 if ":" in address else socket.AF_INET for address in found]
            return [
                (family, socket.SOCK_STREAM, 6, "", (address, port, 0, 0) if ":" in address else (address, port))
                for family, address in zip(families, found, strict=True)
            ]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        return asked

    return to


@pytest.fixture
def no_connection(monkeypatch):
    def connect(*_):
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", connect)


def post(url, allowed=LOOPBACK, **headers):
    return outgoing.post(url, body=b"{}", headers=headers, allowed=allowed)


@pytest.mark.parametrize("address", NEVER)
def test_no_address_of_a_network_is_called(address, resolved, no_connection):
    resolved([address])
    with pytest.raises(outgoing.NotAnswered) as refused:
        post(f"https://{NAME}/", allowed=())
    assert address not in str(refused.value)

    literal = f"[{address}]" if ":" in address else address
    with pytest.raises(Invalid):
        outgoing.check_url(f"https://{literal}/")


def test_one_bad_address_among_good_ones_refuses_them_all(resolved, no_connection):
    resolved(["203.0.114.7", "10.0.0.1"])

    with pytest.raises(outgoing.NotAnswered, match="does not call"):
        post(f"https://{NAME}/", allowed=())


@pytest.mark.parametrize("url", [f"http://{NAME}/", f"https://{NAME}:8443/", f"https://{NAME}:22/"])
def test_public_addresses_are_called_by_https_on_its_port_alone(url, resolved, no_connection):
    resolved(["203.0.114.7"])

    with pytest.raises(outgoing.NotAnswered, match="does not call"):
        post(url, allowed=())


@pytest.mark.parametrize("address", ["203.0.114.7", "2606:4700::1111", "64:ff9b::cb00:7207"])
def test_public_addresses_are_called(address, resolved, monkeypatch):
    """Also those of a network without IPv4, which translates them."""
    resolved([address])
    called = []

    def connect(_, where):
        called.append(where[0])
        raise OSError

    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(outgoing.NotAnswered, match="no connection"):
        post(f"https://{NAME}/", allowed=())
    assert called == [address]


@pytest.mark.parametrize(
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
        outgoing.check_url(url)
    assert refused.value.hint


@pytest.mark.parametrize("name", ["127.1", "2130706433", "0x7f.1", "localhost"])
def test_other_notations_of_an_address_lead_nowhere(name):
    with pytest.raises(outgoing.NotAnswered, match=r"does not call|resolved"):
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
    assert answer.text == "x" * outgoing.MAX_ANSWER_BYTES


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 ", b"HTTP/1.1 200 OK\r\nX-Long: "])
def test_a_receiver_that_hangs_or_drips_is_cut_off(first, receiver, monkeypatch):
    monkeypatch.setattr(outgoing, "MAX_SECONDS", 0.4)

    def slow(handler):
        handler.wfile.write(first)
        while not there.over.wait(0.05):
            if first:
                handler.wfile.write(b"1")

    there = receiver(slow)
    with pytest.raises(outgoing.NotAnswered, match="no answer within"):
        post(there.url)  # without a deadline it would never end


def test_a_body_that_drips_costs_no_more_than_the_time_and_is_delivered(receiver, monkeypatch):
    monkeypatch.setattr(outgoing, "MAX_SECONDS", 0.4)

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

    with pytest.raises(outgoing.NotAnswered, match="the connection failed: BadStatusLine"):
        post(there.url)


@pytest.fixture
def tls(tmp_path, monkeypatch):
    """`wrap` a socket with a certificate for the name, which this process trusts."""
    made = certificates.served("auto", data_dir=tmp_path, listen_host=NAME, public_url=f"https://{NAME}")
    assert made is not None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate, made.key)
    trusted = ssl.create_default_context(cafile=str(tmp_path / "tls" / "ca.pem"))
    monkeypatch.setattr(outgoing, "_context", lambda: trusted)
    return lambda sock: context.wrap_socket(sock, server_side=True)


def test_tls_is_verified_against_the_name_and_not_the_address(receiver, resolved, tls):
    there = receiver(says(200), wrap=tls)
    resolved(["127.0.0.1"], ["127.0.0.1"])

    assert post(f"https://{NAME}:{there.port}/").is_success

    with pytest.raises(outgoing.NotAnswered, match="certificate is not trusted"):
        post(f"https://other.acme.example:{there.port}/")
