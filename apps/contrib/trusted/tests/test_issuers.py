"""The addresses to which requests for an issuer's keys may go."""

import pytest

from apps.contrib.trusted import keys
from apps.contrib.trusted.issuers import Issuer
from apps.lib.net.addresses import ANYWHERE
from tests.rows import for_each_row

HERE, LISTED, OTHER = "http://127.0.0.1:9000", "https://ci.acme.example", "https://token.other.example"


@pytest.fixture(autouse=True)
def listed(settings):
    settings.TRUSTED_ISSUERS = (HERE, LISTED)


@for_each_row(
    ("issuer", "url", "expected"),
    [
        (OTHER, "https://token.other.example/keys", True),
        (OTHER, "https://keys.other.example:8443/keys", True),
        (HERE, "http://127.0.0.1:9000/keys", True),
        (HERE, "http://localhost/keys", True),
        (HERE, "http://10.0.0.1/keys", False),
        (HERE, "http://127.0.0.1.evil.example/keys", False),
        (LISTED, "http://127.0.0.1:9000/keys", False),
        (OTHER, "http://127.0.0.1:9000/keys", False),
        ("http://127.0.0.1:9001", "http://127.0.0.1:9001/keys", False),
        (LISTED, "http://ci.acme.example/keys", False),
        (LISTED, "https://alice@ci.acme.example/keys", False),
        (LISTED, "https://ci.acme.example/keys#a", False),
        (LISTED, "https://ci.acme.example:port/keys", False),
        (LISTED, "https:///keys", False),
        (LISTED, "https://ci.acme.example/a b", False),
        (LISTED, "https://ci.acme.example/\u00e9", False),
        (LISTED, "https://ci.acme.example/\x7f", False),
        (LISTED, "https://ci.acme.example/" + "a" * 500, False),
        (LISTED, None, False),
        (LISTED, ["https://ci.acme.example/keys"], False),
    ],
)
def test_keys_are_read_by_https_or_on_this_machine_if_a_listed_issuer_is_here(issuer, url, expected):
    assert Issuer(issuer).may_ask(url) is expected


def test_only_an_issuer_that_staff_listed_may_be_in_a_private_network():
    assert Issuer(LISTED).allowed == ANYWHERE
    assert Issuer(OTHER).allowed == ()


def test_a_process_remembers_the_keys_of_so_many_issuers_and_no_more(monkeypatch):
    """An owner can name any organisation of some vendors."""
    keys.clear()
    monkeypatch.setattr(keys, "MAX_ISSUERS", 2)
    monkeypatch.setattr(keys, "_fetch", lambda issuer: [{"kty": "RSA", "kid": issuer.url}])

    for number in range(5):
        url = f"https://ci-{number}.example"
        found = keys.keys_for(Issuer(url), kid=url, key_type="RSA", algorithm="RS256")
        assert [key["kid"] for key in found] == [url]
        assert len(keys._entries) <= 2
    keys.clear()
