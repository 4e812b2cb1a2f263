"""Documents that one reader of a namespace was answered, for another one."""

import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Namespace
from tests.site.front.asking import as_django_says
from tests.site.front.test_changes import IN_ACME

VERSIONS = "/v1/modules/acme/vpc/aws/versions"
DOWNLOAD = "/v1/modules/acme/vpc/aws/1.2.0/download"
OTHER = "/v1/modules/acme/dns/aws/versions"
PUBLIC = "/v1/modules/pantry/vpc/aws/versions"


@pytest.fixture
def release(shelf, published):
    published("acme/dns/aws")
    published("pantry/vpc/aws")
    return published("acme/vpc/aws")


def of(process, client, *urls):
    """Return whether each was ready; all were answered as Django answers."""
    return [as_django_says(process, client, url).was_ready for url in urls]


@pytest.mark.both
def test_one_answer_shows_that_the_documents_of_others_may_be_read(process, release, tofu, bob, alice, charlie):
    process.learn()
    of(process, tofu(bob), VERSIONS, DOWNLOAD, OTHER)

    assert of(process, tofu(alice), OTHER, VERSIONS, DOWNLOAD) == [False, True, True]
    for who in (charlie, None):
        assert of(process, tofu(who), OTHER, VERSIONS, DOWNLOAD) == [False, False, False]


def test_a_document_of_another_reader_counts_as_a_download_of_who_asks_and_of_their_token(
    process, release, tofu, bob, alice, counted
):
    process.learn()
    for reads in (tofu(bob), tofu(alice)):
        process.ask(reads, VERSIONS)
        process.ask(reads, DOWNLOAD)
    tokens = dict(ApiToken.objects.values_list("user", "pk"))
    assert counted == [(release.pk, one.pk, tokens[one.pk]) for one in (bob, alice)]


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
