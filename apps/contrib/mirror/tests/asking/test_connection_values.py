"""An operator's input about the way to a registry."""

import pytest

from apps.contrib.mirror.asking import connection_values
from apps.lib.errors import Invalid
from tests.rows import for_each_row


@for_each_row(
    "url",
    [
        "https://larder.example",
        "https://LARDER.example:443/",
        "https://providers.example",
        "https://Providers.Example:443",
    ],
)
def test_a_url_of_this_larder_is_refused(settings, url):
    settings.PUBLIC_HOST, settings.HOSTNAMES = "larder.example", frozenset({"providers.example"})

    with pytest.raises(Invalid, match="is this Larder"):
        connection_values.checked_url(url)


def test_a_url_of_another_registry_is_taken_without_its_slash(settings):
    settings.PUBLIC_HOST, settings.HOSTNAMES = "larder.example", frozenset({"providers.example"})

    assert connection_values.checked_url(" https://registry.larder.example/ ") == "https://registry.larder.example"
    assert connection_values.checked_url(" ") == ""


@for_each_row(
    "url", ["https://x.example/v1", "https://x.example?token=pears", "https://x.example#v1", "https://x.example:port"]
)
def test_a_url_with_more_than_a_host_is_refused(url):
    with pytest.raises(Invalid, match=r"has a path|cannot be read"):
        connection_values.checked_url(url)


@for_each_row(
    ("proxy", "said"),
    [
        ("http://alice@proxy.example:3128", "user name or password"),
        ("http://alice:pears@proxy.example:3128", "user name or password"),
        ("http://proxy.example:port", "cannot be read"),
        ("http://[proxy.example", "cannot be read"),
        ("https://proxy.example:3128", "expected http:// and a host"),
        ("proxy.example:3128", "expected http:// and a host"),
        ("http://", "expected http:// and a host"),
        ("http://:3128", "expected http:// and a host"),
        ("http://proxy.example:3128/path", "expected http:// and a host"),
        ("http://proxy.example:3128?a=b", "expected http:// and a host"),
        ("http://pr\u00f6xy.example", "expected http:// and a host"),
        ("http://proxy\x07.example", "expected http:// and a host"),
        ("http://pro xy.example", "expected http:// and a host"),
        ("http://" + "proxy." * 90 + "example", "expected http:// and a host"),
    ],
)
def test_a_proxy_is_the_plain_url_of_a_host_without_a_password(proxy, said):
    with pytest.raises(Invalid, match=said) as refused:
        connection_values.checked_proxy(proxy)
    assert "pears" not in f"{refused.value} {refused.value.hint}"
    assert len(str(refused.value)) < 150
    assert connection_values.checked_proxy(" http://proxy.example:3128/ ") == "http://proxy.example:3128"


@for_each_row("token", ["two words", "line\nfeed", "t\u00f6ken", "to\x07ken", "x" * 4001])
def test_a_token_that_no_header_can_carry_is_refused_and_not_repeated(token):
    with pytest.raises(Invalid) as refused:
        connection_values.checked_token(token)
    assert token not in str(refused.value)
    assert connection_values.checked_token(" pears\n") == "pears"


@for_each_row(
    ("text", "said"),
    [
        ("x" * 200_001, "more than 200,000 characters"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "not a PEM certificate"),
        (f"-----BEGIN EC {'PRIVATE'} KEY-----\n", "contains a private key"),
    ],
)
def test_what_is_no_certificate_is_refused(text, said):
    with pytest.raises(Invalid, match=said):
        connection_values.checked_ca(text)
