"""Which hosts share answers through a Redis, and when one asks it. test_shared.py has what they repeat."""

import pytest
from django.db import connections

from registry_site import env
from registry_site.backends import other_hosts
from registry_site.backends.other_hosts import OtherHosts

pytestmark = pytest.mark.usefixtures("shelf")

VERSIONS = "/v1/modules/acme/vpc/aws/versions"


@pytest.fixture
def asked(monkeypatch):
    """Questions that anybody asked Redis."""
    asked = []
    look = OtherHosts._look

    def noted(hosts, names):
        asked.extend(names)
        return look(hosts, names)

    monkeypatch.setattr(OtherHosts, "_look", noted)
    return asked


def of(host, client, *urls):
    return [host.ask(client, url).was_ready for url in urls]


def test_a_table_s_own_answer_asks_no_redis(both, published, tofu, bob, asked):
    published("acme/vpc/aws")
    (one, _), reads = both, tofu(bob)
    one.ask(reads, VERSIONS)
    before = len(asked)
    assert of(one, reads, VERSIONS, VERSIONS) == [True, True]
    assert len(asked) == before


def test_numbers_of_another_history_are_not_compared(both, published, tofu, bob):
    """An older backup has another last change of everything."""
    published("acme/vpc/aws")
    (one, other), reads = both, tofu(bob)
    one.learn()
    one.front.lease._asked = float("inf")
    one.front.lease.changes["/everything"] = -1
    one.ask(reads, VERSIONS)
    assert of(other, reads, VERSIONS) == [False]


def test_another_family_finds_nothing(host, patient, published, tofu, bob, server, monkeypatch, settings):
    published("acme/vpc/aws")
    one, reads = host(), tofu(bob)
    one.ask(reads, VERSIONS)
    assert server.redis.dbsize() == 2
    assert of(host(family=b"g" * 32), reads, VERSIONS) == [False]
    assert of(host(), reads, VERSIONS) == [True]


@pytest.fixture
def family(settings, monkeypatch, tmp_path):
    """A small program, so that it may change."""
    (tmp_path / "code" / "apps").mkdir(parents=True)
    (tmp_path / "code" / "apps" / "view.py").write_text("answer = 1\n")
    monkeypatch.setattr(env, "CHECKOUT", tmp_path / "code")
    return other_hosts.family


def test_a_family_is_one_key_database_program_and_configuration(family, settings, monkeypatch, tmp_path):
    found = [family()]
    monkeypatch.setenv("LARDER_LISTEN", "10.0.0.7:8443")
    monkeypatch.setenv("LARDER_WEB_PROCESSES", "7")
    assert family() == found[0], "what may differ between hosts"
    monkeypatch.setenv("LARDER_ARCHIVE_URL_MINUTES", "7")
    found.append(family())
    settings.SECRET_KEY = "another-one-" + "x" * 50
    found.append(family())
    monkeypatch.setitem(connections["default"].settings_dict, "NAME", "staging")
    found.append(family())
    (tmp_path / "code" / "apps" / "view.py").write_text("answer = 2\n")
    found.append(family())
    assert len(set(found)) == len(found)


def test_hosts_share_only_where_the_operator_says_so(settings):
    settings.CACHE_URL, settings.INSTANCES = "redis://127.0.0.1:1/0", 1
    assert other_hosts.chosen() is None
    settings.INSTANCES = 2
    assert other_hosts.chosen() is not None
    settings.CACHE_URL = ""
    assert other_hosts.chosen() is None
