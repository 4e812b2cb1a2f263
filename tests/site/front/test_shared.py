"""Answers that another process of this host made: repeated as one's own, and never beyond a change."""

import sqlite3
import stat

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken
from apps.releases.lifecycle import verbs
from registry_site.front.lease import Shared, begin_sharing
from tests.site.front.asking import Process

pytestmark = pytest.mark.both

VERSIONS = "/v1/modules/acme/vpc/aws/versions"
DOWNLOAD = "/v1/modules/acme/vpc/aws/1.2.0/download"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "ready.sqlite3"
    begin_sharing(path)
    return path


@pytest.fixture
def processes(db, file):
    """Two of one host."""
    both = Process(), Process()
    for one in both:
        one.front.shared = Shared(file, most_bytes=1_000_000)
    yield both
    for one in both:
        one.end()


def test_what_one_process_was_answered_the_other_repeats(processes, published, tofu, bob):
    published("acme/vpc/aws")
    (one, other), reads = processes, tofu(bob)
    for process in processes:
        process.learn()
    for url in (VERSIONS, DOWNLOAD):
        first, again = one.ask(reads, url), other.ask(reads, url)
        assert (first.was_ready, again.was_ready) == (False, True), url
        assert (first.status, first.headers, first.body) == (again.status, again.headers, again.body)


def test_a_repeated_download_is_counted(processes, published, tofu, bob, monkeypatch):
    counted = []
    monkeypatch.setattr("apps.releases.catalogue.downloads.record_download", lambda *said: counted.append(said))
    release, reads = published("acme/vpc/aws"), tofu(bob)
    for process in processes:
        process.learn()
    assert [process.ask(reads, DOWNLOAD).was_ready for process in processes] == [False, True]
    assert [said[:2] for said in counted] == [(release.pk, bob.pk)] * 2


@pytest.mark.parametrize(
    "change",
    [
        lambda it: verbs.yank(release=it["release"], actor=Viewer(it["dora"]), reason="broken"),
        lambda it: verbs.quarantine(release=it["release"], actor=Viewer(it["olga"]), reason="malware"),
        lambda it: tokens.revoke(token=ApiToken.objects.get(user=it["bob"]), actor=Viewer(it["dora"])),
    ],
    ids=["yank", "quarantine", "revoke"],
)
def test_nothing_from_before_a_change_is_repeated(processes, published, tofu, bob, dora, olga, change):
    release = published("acme/vpc/aws")
    (one, other), reads = processes, tofu(bob)
    for process in processes:
        process.learn()
    assert [process.ask(reads, url).was_ready for url in (VERSIONS, DOWNLOAD) for process in processes] == [
        *(False, True),
        *(False, True),
    ]
    for url in ("/v1/modules/acme/vpc", "/v1/modules/acme"):
        one.ask(reads, url)
    change({"release": release, "bob": bob, "dora": dora, "olga": olga})
    for process in processes:
        process.learn()

    for url in (VERSIONS, DOWNLOAD, "/v1/modules/acme/vpc", "/v1/modules/acme"):
        assert not other.ask(reads, url).was_ready, url


def test_a_change_before_this_process_began_counts_too(processes, published, tofu, bob, dora, file):
    release, reads = published("acme/vpc/aws"), tofu(bob)
    one, other = processes
    for process in processes:
        process.learn()
    one.ask(reads, VERSIONS)
    one.ask(reads, DOWNLOAD)
    assert other.ask(reads, VERSIONS).was_ready
    verbs.yank(release=release, actor=Viewer(dora), reason="broken")

    late = Process()
    late.front.shared = Shared(file, most_bytes=1_000_000)
    assert not late.ask(reads, VERSIONS).was_ready
    assert not late.ask(reads, DOWNLOAD).was_ready
    late.end()


def test_what_this_process_has_not_come_to_is_not_repeated(processes, published, tofu, bob):
    """It may be of another database."""
    published("acme/vpc/aws")
    (one, other), reads = processes, tofu(bob)
    for process in processes:
        process.learn()
    one.front.lease.number += 1
    one.ask(reads, VERSIONS)
    assert not other.ask(reads, VERSIONS).was_ready


def test_another_credential_or_a_broken_file_is_asked_of_django(processes, published, tofu, bob, alice, file):
    published("acme/vpc/aws")
    one, other = processes
    for process in processes:
        process.learn()
    reads = tofu(bob)
    one.ask(reads, VERSIONS)
    assert not other.ask(tofu(alice), VERSIONS).was_ready
    assert other.ask(reads, VERSIONS).was_ready
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    file.write_bytes(b"no database")
    third = Process()
    third.front.shared = Shared(file, most_bytes=1_000_000)
    said = third.ask(reads, VERSIONS)
    assert (said.status, said.was_ready) == (200, False)
    third.end()


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
