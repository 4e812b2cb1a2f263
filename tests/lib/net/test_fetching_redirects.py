"""Redirects are followed a few times, each checked like the first URL; a token never leaves its host."""

import pytest

from apps.lib.net.addresses import ANYWHERE
from apps.lib.net.outgoing import NotAnswered
from tests.builders import faults
from tests.rows import for_each_row


@pytest.fixture
def start(registry):
    return f"{registry.url}/start"


def headers_of(registry, path):
    return [request.headers for request in registry.requests if request.path == path]


@for_each_row("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed(status, start, registry, get):
    tool = registry.add_provider()
    registry.misbehave("/start", faults.redirects(f"{tool.zip_path('1.0.0')}?signed=1#part", status))
    found, body, url = get(start)
    assert (found, body) == (200, tool.zip("1.0.0"))
    assert url == f"{registry.url}{tool.zip_path('1.0.0')}?signed=1"


@for_each_row(
    "to",
    [
        "http://10.0.0.1/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[fd00:ec2::254]/",
        "https://[::ffff:10.0.0.1]/",
        "https://2852039166/",
        "//192.168.1.1/",
        "https://registry.acme.example:8443/",
        "http://registry.acme.example/",
    ],
)
def test_a_redirect_to_a_private_address_or_another_port_is_refused(to, start, registry, get, names):
    """`registry.acme.example` is public here, and so may be called by https on port 443 alone."""
    registry.misbehave("/start", faults.redirects(to))
    if "acme" in to:
        names(**{"registry.acme.example": "203.0.114.7"})
    with pytest.raises(NotAnswered, match="the host has an address that Larder may not call") as refused:
        get(start)
    assert (refused.value.code, refused.value.rule) == ("private_address", "private_address")
    assert refused.value.url in {to, f"http:{to}"}


def test_a_redirect_to_a_name_with_a_private_address_is_refused(start, registry, get, names):
    registry.misbehave("/start", faults.redirects("https://inner.acme.example/"))
    names(**{"inner.acme.example": "10.1.2.3"})
    with pytest.raises(NotAnswered, match="may not call"):
        get(start)


@for_each_row(
    ("to", "text"),
    [
        ("file:///etc/passwd", "expected https:// and a host"),
        ("ftp://127.0.0.1/", "expected https:// and a host"),
        ("https://user:password@registry.acme.example/", "user name or password"),
        ("http://127.0.0.1:99999/", "cannot be read"),
        ("/" + "a" * 9000, "more than 8000 characters"),
    ],
)
def test_a_redirect_to_what_is_no_url_is_refused(to, text, start, registry, get):
    registry.misbehave("/start", faults.redirects(to))
    with pytest.raises(NotAnswered, match=text) as refused:
        get(start)
    assert refused.value.code == "bad_url"


def test_a_redirect_in_a_circle_ends_at_once_and_the_caller_can_refuse_each_hop(start, registry, get):
    registry.misbehave("/start", faults.redirects("/other"))
    registry.misbehave("/other", faults.redirects("/start"))
    with pytest.raises(NotAnswered, match="the redirects lead in a circle") as refused:
        get(start)
    assert (refused.value.code, refused.value.rule) == ("redirect_loop", "max_redirects")
    assert len(registry.requests) == 2

    def refuse(parts):
        if parts.path == "/other":
            raise NotAnswered("that is me", code="own_registry")

    with pytest.raises(NotAnswered, match="that is me"):
        get(start, refuse=refuse)
    assert registry.count("/other") == 1


def test_redirects_without_end_are_left_after_a_few(start, registry, get):
    registry.misbehave("*", lambda exchange, _: faults.redirects(exchange.path + "x")(exchange, _))
    with pytest.raises(NotAnswered, match="there are more than 5 redirects") as refused:
        get(start)
    assert refused.value.code == "too_many_redirects"
    assert len(registry.requests) == 6


def test_a_redirect_to_a_location_with_blanks_and_umlauts_is_encoded(start, registry, get):
    registry.misbehave("/start", faults.redirects("/grüne birnen".encode().decode("latin-1")))
    assert get(start)[0] == 404
    assert registry.requests[-1].path == "/grüne birnen"


def test_a_token_follows_on_its_host_and_not_to_another(start, registry, get):
    registry.misbehave("/start", faults.redirects("/same"))
    registry.misbehave("/same", faults.redirects(f"{registry.other_name_url}/other"))
    registry.misbehave("/other", faults.redirects(f"{registry.url}/back"))
    get(start, authorization="Bearer pears", allowed=ANYWHERE)
    sent = {request.path: request.headers.get("authorization") for request in registry.requests}
    assert sent == {"/start": "Bearer pears", "/same": "Bearer pears", "/other": None, "/back": None}


@for_each_row("status", [200, 201, 300, 304, 404])
def test_a_location_of_an_answer_that_is_no_redirect_is_not_followed(status, start, registry, get):
    registry.misbehave("/start", faults.redirects("/other", status))

    assert get(start)[0] == status
    assert registry.count("/other") == 0
