"""Dangerous configuration has a name and a hint."""

import pytest

from apps.lib.forwarding import TrustedProxies
from registry_site import checks


def ids(found):
    return [message.id for message in found]


def test_one_host_may_keep_everything_on_its_disk(settings):
    assert ids(checks.one_place_for_all_hosts(None)) == []


def test_several_hosts_may_not(settings):
    settings.INSTANCES = 3
    settings.CACHE_URL = "redis://cache"
    settings.STORAGE_URL = "s3://bucket"

    found = checks.one_place_for_all_hosts(None)

    assert "larder.E003" in ids(found)
    assert "larder.E002" not in ids(found)
    assert all(message.hint for message in found)


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("DEBUG", True, "larder.E005"),
        ("PUBLIC_URL", "http://registry.example", "larder.W001"),
        ("CRASH_AT", ["before:check"], "larder.E006"),
        ("BEHIND_PROXY", True, "larder.W002"),
        ("TRUSTED_PROXIES", TrustedProxies.parse(["10.0.0.1", "::/0"]), "larder.W003"),
    ],
)
def test_what_must_not_be_on_in_production_is_named(settings, name, value, found):
    settings.DEBUG = False
    assert ids(checks.nothing_is_left_open(None)) == []
    setattr(settings, name, value)

    assert ids(checks.nothing_is_left_open(None)) == [found]


def test_the_older_word_for_a_proxy_is_no_danger_where_proxies_are_named(settings):
    settings.DEBUG = False
    settings.BEHIND_PROXY = True
    settings.TRUSTED_PROXIES = TrustedProxies.parse(["10.0.0.1"])

    assert ids(checks.nothing_is_left_open(None)) == []
