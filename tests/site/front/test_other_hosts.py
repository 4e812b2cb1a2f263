"""Answers that a web process of another host made: repeated as one's own, never longer and never beyond a change."""

import pytest
from django.db import connections

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken
from apps.releases.lifecycle import verbs
from registry_site import env
from registry_site.backends import other_hosts
from registry_site.backends.other_hosts import OtherHosts
from tests.rows import for_each_row
from tests.site.front.asking import Process

pytestmark = pytest.mark.both

VERSIONS = "/v1/modules/acme/vpc/aws/versions"
DOWNLOAD = "/v1/modules/acme/vpc/aws/1.2.0/download"
PUBLIC = "/v1/modules/pantry/vpc/aws/versions"


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


def test_what_one_host_was_answered_the_other_repeats_without_django(both, published, tofu, bob):
    published("acme/vpc/aws"), published("pantry/vpc/aws")
    (one, other), reads, nobody = both, tofu(bob), tofu(None)
    for client, url in ((reads, VERSIONS), (reads, DOWNLOAD), (nobody, PUBLIC)):
        first, again = one.ask(client, url), other.ask(client, url)
        assert (first.was_ready, again.was_ready) == (False, True), url
        assert (first.status, first.headers, first.body) == (again.status, again.headers, again.body)


def test_a_repeated_download_is_counted(both, published, tofu, bob, monkeypatch):
    counted = []
    monkeypatch.setattr("apps.releases.catalogue.downloads.record_download", lambda *said: counted.append(said[:2]))
    release, reads = published("acme/vpc/aws"), tofu(bob)
    assert [of(one, reads, DOWNLOAD) for one in both] == [[False], [True]]
    assert counted == [(release.pk, bob.pk)] * 2


def test_a_table_s_own_answer_asks_no_redis(both, published, tofu, bob, asked):
    published("acme/vpc/aws")
    (one, _), reads = both, tofu(bob)
    one.ask(reads, VERSIONS)
    before = len(asked)
    assert of(one, reads, VERSIONS, VERSIONS) == [True, True]
    assert len(asked) == before


def test_another_reader_asks_django_once_and_nobody_else_is_answered(both, published, tofu, bob, alice, charlie):
    published("acme/vpc/aws")
    one, other = both
    of(one, tofu(bob), VERSIONS, DOWNLOAD)
    assert of(other, tofu(alice), VERSIONS, DOWNLOAD) == [False, True]
    for who in (charlie, None):
        assert other.ask(tofu(who), VERSIONS).status in (401, 404)


CHANGES = {
    "publish": lambda it: it["published"]("acme/vpc/aws", "1.3.0"),
    "yank": lambda it: verbs.yank(release=it["release"], actor=Viewer(it["dora"]), reason="broken"),
    "quarantine": lambda it: verbs.quarantine(release=it["release"], actor=Viewer(it["olga"]), reason="malware"),
    "revoke": lambda it: tokens.revoke(token=ApiToken.objects.get(user=it["bob"]), actor=Viewer(it["dora"])),
}


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_a_change_ends_it_at_a_host_that_knows_of_it(both, host, published, tofu, bob, dora, olga, change):
    release, reads = published("acme/vpc/aws"), tofu(bob)
    one, other = both
    of(one, reads, VERSIONS, DOWNLOAD)
    assert of(other, reads, DOWNLOAD) == [True]
    CHANGES[change]({"release": release, "published": published, "bob": bob, "dora": dora, "olga": olga})
    other.learn()
    fresh = Process()
    for process in (other, host()):
        said, django = process.ask(reads, VERSIONS), fresh.ask(reads, VERSIONS)
        assert (said.status, said.body) == (django.status, django.body)
        assert process is not other or not said.was_ready
    fresh.end()


def test_an_answer_from_before_a_change_that_comes_late_is_not_repeated(both, published, tofu, bob, dora):
    """Its writer did not know of the change yet."""
    release, reads = published("acme/vpc/aws"), tofu(bob)
    one, other = both
    one.learn()
    one.front.lease._asked = float("inf")
    verbs.yank(release=release, actor=Viewer(dora), reason="broken")
    one.ask(reads, VERSIONS)
    other.learn()
    assert of(other, reads, VERSIONS) == [False]


@for_each_row("ahead", [1, -1])
def test_numbers_of_another_history_are_not_compared(both, published, tofu, bob, ahead, monkeypatch):
    """An older backup has another last change of everything, or fewer changes than the answer is from."""
    published("acme/vpc/aws")
    (one, other), reads = both, tofu(bob)
    one.learn()
    one.front.lease._asked = float("inf")
    if ahead > 0:
        one.front.lease.number += 1
    else:
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
