"""Documents that one reader of a namespace was answered, for another one; and documents before anybody asks."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Namespace
from apps.blobs import capabilities
from apps.protocol.locations import location_of
from apps.releases.lifecycle import verbs
from registry_site.front.lease import Shared, begin_sharing
from tests.site.front.asking import Process, as_django_says
from tests.site.front.test_changes import IN_ACME

VERSIONS = "/v1/modules/acme/vpc/aws/versions"
DOWNLOAD = "/v1/modules/acme/vpc/aws/1.2.0/download"
OTHER = "/v1/modules/acme/dns/aws/versions"
PUBLIC = "/v1/modules/pantry/vpc/aws/versions"


@pytest.fixture
def release(published):
    published("acme/dns/aws")
    published("pantry/vpc/aws")
    return published("acme/vpc/aws")


def of(process, client, *urls):
    """Whether each was ready; all were answered as Django answers."""
    return [as_django_says(process, client, url).was_ready for url in urls]


@pytest.mark.both
def test_one_answer_shows_that_the_documents_of_others_may_be_read(process, release, tofu, bob, alice, charlie):
    process.learn()
    of(process, tofu(bob), VERSIONS, DOWNLOAD, OTHER)

    assert of(process, tofu(alice), OTHER, VERSIONS, DOWNLOAD) == [False, True, True]
    for who in (charlie, None):
        assert of(process, tofu(who), OTHER, VERSIONS, DOWNLOAD) == [False, False, False]


def test_a_document_of_another_reader_counts_as_a_download_of_who_asks(process, release, tofu, bob, alice, counted):
    process.learn()
    for reads in (tofu(bob), tofu(alice)):
        process.ask(reads, VERSIONS)
        process.ask(reads, DOWNLOAD)
    assert counted == [(release.pk, bob.pk), (release.pk, alice.pk)]


@pytest.mark.parametrize("verb", ["revoke", "visibility", "withdraw", "yank", "quarantine"])
def test_a_change_ends_it(process, release, tofu, bob, alice, dora, olga, verb):
    process.learn()
    reads = tofu(alice)
    of(process, tofu(bob), VERSIONS, DOWNLOAD)
    assert of(process, reads, VERSIONS, DOWNLOAD) == [False, True]
    change, _ = IN_ACME[verb]
    grant = Grant.objects.get(user=alice, namespace=release.namespace)
    things = {"release": release, "acme": release.namespace, "grant": grant}
    things |= {"token": ApiToken.objects.get(user=alice), "dora": Viewer(dora), "olga": Viewer(olga)}
    change(things)
    process.learn()

    assert of(process, reads, VERSIONS, DOWNLOAD)[0] is False


def test_a_right_ends_with_a_change_of_people(process, release, tofu, bob, alice, dora):
    """Of whoever it was: another reader's document is there again, but this one must show anew that it may be read."""
    process.learn()
    others, reads = tofu(bob), tofu(alice)
    of(process, others, VERSIONS, DOWNLOAD)
    assert of(process, reads, VERSIONS, DOWNLOAD) == [False, True]
    tokens.revoke(token=ApiToken.objects.get(user=alice), actor=Viewer(dora))
    process.learn()

    assert of(process, others, VERSIONS, DOWNLOAD) == [False, False]
    assert of(process, reads, VERSIONS) == [False]
    assert process.ask(reads, DOWNLOAD).status == 401


def test_a_token_for_other_namespaces_opens_nothing_here(process, release, tofu, bob):
    process.learn()
    of(process, tofu(bob), VERSIONS, DOWNLOAD)
    pantry = Namespace.objects.filter(name="pantry")
    _, secret = tokens.issue(user=bob, label="pantry", scope="read", actor=Viewer(bob), namespaces=pantry)
    limited = Client(headers={"Authorization": f"Bearer {secret}"})

    assert of(process, limited, PUBLIC, VERSIONS, DOWNLOAD) == [False, False, False]
    assert process.ask(limited, VERSIONS).status == 404


# --- Before anybody asks ---------------------------------------------------------------------------------------------


def restarted(file):
    """Another process, after a restart of the web server."""
    begin_sharing(file)
    process = Process()
    process.front.shared = Shared(file, most_bytes=1_000_000)
    process.front.ask = process.ask_django
    return process


@pytest.fixture
def before(process, file):
    process.front.shared = Shared(file, most_bytes=1_000_000)
    return process


def test_what_was_asked_before_a_restart_is_ready_after_it(
    before, file, release, tofu, bob, alice, counted, monkeypatch
):
    monkeypatch.setattr("apps.http.authentication.token_usage.record_use", lambda *said, **_: counted.append(said))
    before.learn()
    of(before, tofu(bob), VERSIONS, DOWNLOAD)
    of(before, tofu(None), PUBLIC)
    counted.clear()

    after = restarted(file)
    after.run(after.front.prepare())
    assert set(after.prepared) == {VERSIONS, DOWNLOAD, PUBLIC}
    assert counted == []
    assert of(after, tofu(None), PUBLIC, VERSIONS) == [True, False]
    assert of(after, tofu(alice), VERSIONS, DOWNLOAD) == [False, True]
    after.end()


def test_private_bytes_are_ready_by_whatever_link_comes(before, file, release, published, tofu):
    before.learn()
    # Two rounds: one may end while the test runs.
    first, later = datetime.now(tz=UTC), datetime.now(tz=UTC) + 2 * capabilities.ROUND
    of(before, tofu(None), *(location_of(release, now=first).partition("?")[0],) * 2)

    after = restarted(file)
    after.run(after.front.prepare())
    link = location_of(release, now=later).partition("?")[0]
    assert link not in after.prepared
    # Django shows each new process how it answers such a question, the front's own or anybody's.
    assert len(after.prepared) == 1
    after.run(after.front.prepare())
    misses = after.front.misses
    assert of(after, tofu(None), link) == [True]
    assert after.front.misses == misses
    after.end()


def test_nothing_is_prepared_as_a_token_that_was_revoked(before, file, release, tofu, bob, dora):
    before.learn()
    of(before, tofu(bob), VERSIONS)
    tokens.revoke(token=ApiToken.objects.get(user=bob), actor=Viewer(dora))

    after = restarted(file)
    after.run(after.front.prepare())
    assert after.prepared == [VERSIONS]
    assert len(after.front.table) == 0
    after.end()


def test_what_a_change_ends_is_asked_again_at_once(process, release, tofu, bob, dora):
    process.front.ask = process.ask_django
    process.learn()
    reads = tofu(bob)
    of(process, reads, VERSIONS)
    verbs.yank(release=release, actor=Viewer(dora), reason="broken")
    process.learn()
    process.run(process.front._preparing)

    assert process.prepared == [VERSIONS]
    assert of(process, reads, DOWNLOAD, VERSIONS) == [False, True]
