"""The client's address is the last forwarded one that no trusted proxy has."""

import pytest

from apps.lib.errors import Invalid
from apps.lib.net.forwarding import Forwarded, TrustedProxies, forwarded
from tests.rows import for_each_row

PROXIES = TrustedProxies.parse(["10.0.0.0/8", "2001:db8:f::/48", "192.0.2.7"])


def client(peer: str, forwarded_for: str = "", proxies: TrustedProxies = PROXIES) -> str:
    return forwarded(proxies, peer=peer, forwarded_for=forwarded_for, forwarded_proto="").client


@for_each_row(
    ("peer", "forwarded_for", "expected"),
    [
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.4", "198.51.100.4"),
        ("192.0.2.7", "198.51.100.4", "198.51.100.4"),
        ("192.0.2.8", "198.51.100.4", "192.0.2.8"),  # not a proxy of ours
        ("10.0.0.1", "203.0.113.9, 198.51.100.4", "198.51.100.4"),  # the left one is the client's own invention
        ("10.0.0.1", "203.0.113.9, 198.51.100.4, 10.1.1.1, 192.0.2.7", "198.51.100.4"),
        ("10.0.0.1", "10.2.2.2, 10.1.1.1", "10.2.2.2"),  # a client inside the trusted network
        ("10.0.0.1", "198.51.100.4:50321", "198.51.100.4"),
        ("10.0.0.1", "[2001:db8::4]:50321, [2001:db8:f::1]:443", "2001:db8::4"),
        ("10.0.0.1", "[2001:db8::4]", "2001:db8::4"),
        ("10.0.0.1", "2001:DB8:0::4", "2001:db8::4"),
        ("10.0.0.1", "fe80::1%eth0", "fe80::1"),
        ("2001:db8:f::1", "2001:db8::4", "2001:db8::4"),
        ("::ffff:10.0.0.1", "::ffff:198.51.100.4", "198.51.100.4"),
        ("10.0.0.1", ", ,198.51.100.4 , ", "198.51.100.4"),
        ("10.0.0.1", "garbage, 198.51.100.4", "198.51.100.4"),
        ("10.0.0.1", "203.0.113.9, unknown", "10.0.0.1"),  # what is left of garbage has no voucher
        ("10.0.0.1", "203.0.113.9, <script>, 10.1.1.1", "10.1.1.1"),
        ("10.0.0.1", "1.2.3.4.5", "10.0.0.1"),
        ("", "198.51.100.4", ""),
        ("not an address", "198.51.100.4", "not an address"),
    ],
)
def test_the_client_is_the_last_address_that_no_trusted_proxy_has(peer, forwarded_for, expected):
    assert client(peer, forwarded_for) == expected


@for_each_row(
    ("words", "peer", "expected"),
    [
        ([], "10.0.0.1", "10.0.0.1"),
        (["unix"], "", "198.51.100.4"),
        (["unix"], "127.0.0.1", "127.0.0.1"),
        (["unix"], "not an address", "not an address"),
        *((["loopback"], peer, "198.51.100.4") for peer in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1")),
    ],
)
def test_who_is_trusted_by_a_word_and_nobody_without_one(words, peer, expected):
    assert client(peer, "198.51.100.4", TrustedProxies.parse(words)) == expected


@for_each_row(
    ("peer", "forwarded_for", "forwarded_proto", "scheme"),
    [
        ("10.0.0.1", "198.51.100.4", "https", "https"),
        ("10.0.0.1", "198.51.100.4", "HTTP", "http"),
        ("10.0.0.1", "", "https", "https"),
        ("192.0.2.8", "198.51.100.4", "https", ""),  # not a proxy of ours
        ("10.0.0.1", "198.51.100.4", "gopher", ""),
        ("10.0.0.1", "198.51.100.4", "https, http", "http"),  # one proxy: what it received stands before its own word
        ("10.0.0.1", "198.51.100.4, 10.1.1.1", "https, http", "https"),  # two proxies: TLS ends at the first
        ("10.0.0.1", "198.51.100.4, 10.1.1.1", "https", "https"),
    ],
)
def test_the_scheme_is_what_the_proxy_next_to_the_client_saw(peer, forwarded_for, forwarded_proto, scheme):
    found = forwarded(PROXIES, peer=peer, forwarded_for=forwarded_for, forwarded_proto=forwarded_proto)
    assert found == Forwarded(client(peer, forwarded_for), scheme, is_proxied=peer == "10.0.0.1")


@for_each_row("word", ["10.0.0.0/33", "proxy.example", "10.0.0.1:80", "unix:", "fe80::/129"])
def test_what_is_no_network_is_refused(word):
    with pytest.raises(Invalid, match="does not appear to be"):
        TrustedProxies.parse([word])
