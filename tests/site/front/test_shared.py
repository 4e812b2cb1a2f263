"""Answers that another process of this host, or of another host, made: repeated as one's own, never beyond a change."""

import sqlite3
import stat

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import ApiToken
from apps.releases.lifecycle import verbs
from registry_site.front.lease import Shared, begin_sharing
from tests.site.front.asking import Process, as_django_says
from tests.site.front.test_changes import IN_ACME

VERSIONS = "/v1/modules/acme/vpc/aws/versions"
DOWNLOAD = "/v1/modules/acme/vpc/aws/1.2.0/download"
PUBLIC = "/v1/modules/pantry/vpc/aws/versions"


@pytest.fixture
def neighbour(db, file):
    """Processes of one host, which share a file."""
    made = []

    def make():
        made.append(Process())
        made[-1].front.shared = Shared(file, most_bytes=1_000_000)
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture(params=["neighbour", "host"])
def another(request, patient):
    """Hosts share a Redis."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def release(published):
    published("pantry/vpc/aws")
    return published("acme/vpc/aws")


@pytest.fixture
def pair(another, release):
    both = another(), another()
    for one in both:
        one.learn()
    return both


def of(process, client, *urls):
    return [process.ask(client, url).was_ready for url in urls]


@pytest.mark.both
def test_what_one_was_answered_the_other_repeats_and_a_download_counts_for_each(pair, release, tofu, bob, counted):
    (one, other), reads = pair, tofu(bob)
    for client, url in ((reads, VERSIONS), (reads, DOWNLOAD), (tofu(None), PUBLIC)):
        first, again = one.ask(client, url), other.ask(client, url)
        assert (first.was_ready, again.was_ready) == (False, True), url
        assert (first.status, first.headers, first.body) == (again.status, again.headers, again.body)
    assert counted == [(release.pk, bob.pk)] * 2


def test_another_reader_asks_django_once_and_nobody_else_is_answered(pair, tofu, bob, alice, charlie):
    one, other = pair
    of(one, tofu(bob), VERSIONS, DOWNLOAD)
    assert of(other, tofu(alice), VERSIONS, DOWNLOAD) == [False, True]
    for who in (charlie, None):
        assert other.ask(tofu(who), VERSIONS).status in (401, 404)


@pytest.mark.parametrize("verb", ["yank", "quarantine", "revoke"])
def test_nothing_from_before_a_change_is_repeated(pair, another, release, tofu, bob, dora, olga, verb):
    (one, other), reads = pair, tofu(bob)
    lists = ("/v1/modules/acme/vpc", "/v1/modules/acme")
    of(one, reads, VERSIONS, DOWNLOAD, *lists)
    assert of(other, reads, VERSIONS, DOWNLOAD) == [True, True]

    change, _ = IN_ACME[verb]
    change({"release": release, "token": ApiToken.objects.get(user=bob), "dora": Viewer(dora), "olga": Viewer(olga)})
    other.learn()

    # The other one shares what it asks anew: one that begins now asks for something else.
    for process, url in ((other, VERSIONS), *((other, url) for url in lists), (another(), DOWNLOAD)):
        assert not as_django_says(process, reads, url).was_ready, url


def test_an_answer_from_before_a_change_that_comes_late_is_not_repeated(pair, release, tofu, bob, dora):
    """Its writer did not know of the change yet."""
    (one, other), reads = pair, tofu(bob)
    one.front.lease._asked = float("inf")
    verbs.yank(release=release, actor=Viewer(dora), reason="broken")
    one.ask(reads, VERSIONS)
    other.learn()
    assert of(other, reads, VERSIONS) == [False]


def test_an_answer_that_is_newer_than_what_this_process_knows_is_not_repeated(pair, tofu, bob):
    """It may be of another database."""
    (one, other), reads = pair, tofu(bob)
    one.front.lease._asked = float("inf")
    one.front.lease.number += 1
    one.ask(reads, VERSIONS)
    assert of(other, reads, VERSIONS) == [False]


# --- The file of a host ----------------------------------------------------------------------------------------------


def test_a_broken_file_is_none(file, release, neighbour, tofu, bob):
    reads = tofu(bob)
    neighbour().ask(reads, VERSIONS)
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    file.write_bytes(b"no database")
    said = neighbour().ask(reads, VERSIONS)
    assert (said.status, said.was_ready) == (200, False)


def test_the_file_is_its_users_alone_and_begins_empty(file):
    with sqlite3.connect(file) as connection:
        connection.execute("INSERT INTO ready VALUES (x'00', 0, 1e9, 200, x'', '{}')")
    connection.close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    begin_sharing(file)
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM ready").fetchone() == (0,)
    connection.close()


def test_no_file_means_that_nothing_is_shared(tmp_path):
    assert Shared(tmp_path / "none", most_bytes=1_000_000).find(("GET",)) is None
    assert Shared(None).find(("GET",)) is None
