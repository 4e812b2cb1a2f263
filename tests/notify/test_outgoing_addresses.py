"""The addresses and names that a URL may have which a user chose."""

import socket
from ipaddress import ip_network

import pytest

from apps.lib.errors import Invalid
from apps.lib.net import addresses
from apps.lib.net.outgoing import NotAnswered
from tests.notify.test_outgoing import LOOPBACK, NAME, post
from tests.rows import for_each_row

# The first and last addresses of IANA's special-purpose ranges, and of others that are not public.
NEVER = """
0.0.0.0 0.255.255.255 10.0.0.0 10.1.2.3 10.255.255.255 100.64.0.0 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.255
169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.1 192.0.0.8 192.0.0.9
192.0.0.10 192.0.0.170 192.0.0.171 192.0.0.255 192.0.2.0 192.0.2.255 192.31.196.0 192.31.196.255 192.52.193.0
192.52.193.255 192.88.99.0 192.88.99.1 192.88.99.2 192.88.99.255 192.168.0.0 192.168.255.255 192.175.48.0
192.175.48.255 198.18.0.0 198.19.255.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255 224.0.0.1
239.255.255.255 240.0.0.0 255.255.255.254 255.255.255.255
:: ::1 ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:0.0.0.0 ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:169.254.169.254
::ffff:192.0.0.8 ::ffff:255.255.255.255 ::ffff:0:10.0.0.1 ::ffff:0:8.8.8.8 ::ffff:0:ffff:ffff ::1:0:0:0
64:ff9b::a00:1 64:ff9b::127.0.0.1 64:ff9b::c058:6301 64:ff9b:0:1:: 64:ff9b:1:: 64:ff9b:1::a00:1
64:ff9b:1:ffff:ffff:ffff:ffff:ffff 100:: 100::ffff:ffff:ffff:ffff 100:0:0:1:: 100:0:0:1:ffff:ffff:ffff:ffff 200:: 400::
1000:: 1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2001:: 2001:0:a00:1::1 2001:0:ffff:ffff:ffff:ffff:ffff:ffff 2001:1::1
2001:1::2 2001:1::3 2001:2:: 2001:2:0:ffff:ffff:ffff:ffff:ffff 2001:3:: 2001:4:112:: 2001:10:: 2001:1f:ffff::
2001:20:: 2001:2f:ffff:: 2001:30:: 2001:3f:ffff:: 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff 2001:db8::
2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 2002:: 2002:a00:1::1 2002:808:808::1 2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff
2620:4f:8000:: 2620:4f:8000:ffff:ffff:ffff:ffff:ffff 3fff:: 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff 4000:: 5f00::
5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff 8000:: c000:: fc00:: fc00::1 fd00:ec2::254
fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff fe00:: fe80:: fe80::1 fe80::1%eth0 fe80::a00:1%1
febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff fec0:: fec0::1 feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ff00:: ff02::1 ff0e::1
ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ::ffff:10.0.0.1%1 64:ff9b::a00:1%eth0
""".split()  # noqa: SIM905  # a list has a line for each
# Their neighbours, and well-known public ones.
PUBLIC = """
1.0.0.0 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.1.255 192.0.3.0 192.0.9.1 192.31.195.255
192.31.197.0 192.52.192.255 192.52.194.0 192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0 192.175.47.255
192.175.49.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 203.0.114.7 223.255.255.255
2000:: 2001:200:: 2001:4860:4860::8888 2001:db7:ffff:: 2001:db9:: 2003:: 2606:4700::1111 2620:4f:7fff::1 2620:4f:8001::1
2620:fe::fe 2a00:: 2a00:1450:4001::1 2c00:: 3ffe:ffff:: 3fff:1000:: ::ffff:8.8.8.8 ::ffff:198.20.0.0 64:ff9b::808:808
64:ff9b::cb00:7207
""".split()  # noqa: SIM905  # a list has a line for each
# Spellings that getaddrinfo takes for an address without asking a name server.
OTHER_SPELLINGS = """
2130706433 0x7f000001 0x7F.1 0x7f.0.0.1 0177.0.0.1 017700000001 127.1 127.0.1 0 0x0 10.1 012.1.2.3 0xa9fea9fe
2852039166 0xa9.254.0251.254 3232235777 [::ffff:7f00:1] [0:0:0:0:0:ffff:0a00:0001] [64:FF9B::127.0.0.1] [fe80::1%25eth0]
""".split()  # noqa: SIM905  # a list has a line for each


def in_url(address):
    return f"https://[{address}]/" if ":" in address else f"https://{address}/"


@for_each_row("address", NEVER)
def test_no_address_of_a_network_is_called(address, resolved, no_connection):
    resolved([address])
    with pytest.raises(NotAnswered, match="may not call") as refused:
        post(f"https://{NAME}/", allowed=())
    assert address not in str(refused.value)

    with pytest.raises(Invalid):
        addresses.check_url(in_url(address))


@for_each_row("address", PUBLIC)
def test_public_addresses_are_called(address, resolved, monkeypatch):
    """Also those of a network without IPv4, which translates them."""
    resolved([address])
    called = []

    def connect(_, where):
        called.append(where[0])
        raise OSError

    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(NotAnswered, match="no connection"):
        post(f"https://{NAME}/", allowed=())
    assert called == [address]
    assert addresses.check_url(in_url(address))


@for_each_row(
    ("network", "address", "is_allowed"),
    [
        ("10.0.0.0/8", "10.0.0.1", True),
        ("10.0.0.0/8", "::ffff:10.0.0.1", True),
        ("10.0.0.0/8", "64:ff9b::a00:1", True),
        ("10.0.0.0/8", "11.0.0.1", False),
        ("10.0.0.0/8", "::ffff:11.0.0.1", False),
        ("10.0.0.0/8", "::10.0.0.1", False),
        ("10.0.0.0/8", "::ffff:0:10.0.0.1", False),
        ("10.0.0.0/8", "64:ff9b:1::a00:1", False),
        ("10.0.0.0/8", "2002:a00:1::1", False),
        ("fd00:ac3e::/32", "fd00:ac3e::1", True),
        ("fd00:ac3e::/32", "fd00:ac3f::1", False),
        ("fe80::/10", "fe80::1%eth0", True),
        ("2002::/16", "2002:a00:1::1", True),
        ("::1/128", "::1", True),
        ("::1/128", "127.0.0.1", False),
        # An IPv4 address is judged as one, however it is written: all of IPv6 is not all of IPv4.
        ("::/0", "fd00::1", True),
        ("::/0", "::ffff:10.0.0.1", False),
        ("::/0", "64:ff9b::a00:1", False),
    ],
)
def test_a_network_that_an_operator_allowed_covers_all_forms_of_its_addresses(
    network, address, is_allowed, resolved, monkeypatch
):
    """There, plain http and any port are allowed as well."""

    def connect(*_):
        raise OSError

    monkeypatch.setattr(socket.socket, "connect", connect)
    resolved([address])
    allowed = (ip_network(network),)
    literal = in_url(address).replace("https:", "http:")[:-1] + ":8080/"
    with pytest.raises(NotAnswered, match="no connection" if is_allowed else "may not call"):
        post(f"http://{NAME}:8080/", allowed=allowed)
    if is_allowed:
        assert addresses.check_url(literal, allowed) == literal
    else:
        with pytest.raises(Invalid, match="http on port 8080 is not allowed"):
            addresses.check_url(literal, allowed)


@for_each_row("host", OTHER_SPELLINGS)
def test_another_spelling_of_an_address_is_judged_as_the_address(host):
    with pytest.raises(Invalid, match="with https on port 443 is not allowed"):
        addresses.check_url(f"https://{host}/")
    with pytest.raises(Invalid, match="with http on port 80 is not allowed"):
        addresses.check_url(f"http://{host}/", (ip_network("192.0.2.0/24"),))


def test_another_spelling_of_a_public_or_allowed_address_is_taken():
    assert addresses.check_url("https://0x8.0x8.0x8.0x8/")
    assert addresses.check_url("http://2130706433/", LOOPBACK)


BAD_NAMES = {
    f"http://{NAME}/": "uses http on port 80, expected https on port 443",
    f"http://{NAME}:443/": "uses http on port 443",
    f"https://{NAME}:8443/": "uses https on port 8443",
    f"https://{NAME}:80/": "uses https on port 80",
    "https://localhost/": "host is 'localhost', expected a full name",
    "https://intranet/hook": "host is 'intranet'",
    "https://db/": "host is 'db'",
    "https://LOCALHOST/": "host is 'localhost'",
    "https://localhost./": "host is 'localhost.'",
    f"https://{NAME}./": "expected a full name",
    "https://127.0.0.1./": "expected a full name",
    "https://./": "expected a full name",
}


@for_each_row("url", BAD_NAMES)
def test_a_name_that_cannot_be_called_is_refused_before_it_is_resolved(url):
    with pytest.raises(Invalid, match=BAD_NAMES[url]) as refused:
        addresses.check_url(url)
    assert "LARDER_OUTGOING_ALLOW" in refused.value.hint


@for_each_row("url", [f"http://{NAME}/", f"https://{NAME}:8443/", "http://db:8080/", "http://db.internal./"])
def test_with_an_allowed_network_any_name_is_taken_because_it_may_be_there(url):
    assert addresses.check_url(url, LOOPBACK) == url


@for_each_row(
    ("url", "said"),
    [
        ("", "expected https:// and a host"),
        ("ftp://hooks.acme.example/", "expected https:// and a host"),
        ("ssh://hooks.acme.example/", "expected https:// and a host"),
        ("//hooks.acme.example/", "expected https:// and a host"),
        ("https:///larder", "expected https:// and a host"),
        ("https://hooks.acme.example:port/", "cannot be read"),
        ("https://[hooks.acme.example/", "cannot be read"),
        ("https://alice@hooks.acme.example/", "user name or password"),
        ("https://:pears@hooks.acme.example/", "user name or password"),
        ("https://hooks.acme.example/\n", "others than plain ASCII"),
        ("https://hooks.acme.example/\x7f", "others than plain ASCII"),
        ("https://hooks.acme.example/a b", "others than plain ASCII"),
        ("https://hooks.acme.example/caf\u00e9", "others than plain ASCII"),
        ("https://hooks.acme.example/" + "a" * 480, "more than 500 characters"),
    ],
)
def test_what_is_no_url_is_refused_also_where_any_network_is_allowed(url, said):
    for allowed in ((), addresses.ANYWHERE):
        with pytest.raises(Invalid, match=said) as refused:
            addresses.check_url(url, allowed)
        assert "pears" not in f"{refused.value} {refused.value.hint}"
