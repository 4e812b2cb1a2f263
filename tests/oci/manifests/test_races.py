"""Pushes that meet: the last commit wins, and both are recorded."""

from functools import partial

import pytest

from apps.artifacts.models import Manifest, Repository, RepositoryBlob, Tag
from apps.audit.models import AuditEvent
from tests.oci.manifests.documents import digest_of, image, index
from tests.threads import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both]


def test_two_pushes_to_one_tag_both_count_and_the_last_one_wins(repo):
    ats = [repo() for _ in range(4)]
    ats[0].blob(b"{}")
    raws = [image(annotations={"n": str(number)}) for number in range(4)]

    answers = at_once(*(partial(at.put, raw, "main") for at, raw in zip(ats, raws, strict=True)))

    assert [answer.status_code for answer in answers] == [201] * 4
    assert Manifest.objects.count() == 4
    events = list(AuditEvent.objects.filter(kind="namespace:manifest:pushed").order_by("pk"))
    assert {event.detail["digest"] for event in events} == {digest_of(raw) for raw in raws}
    tag = Tag.objects.get()
    # Each says what it moved the tag from: together they are one chain that ends where the tag is now.
    moves = {event.detail["moved"].get("main", ""): event.detail["digest"] for event in events}
    at = ""
    for _ in raws:
        at = moves.pop(at)
    assert (at, moves) == (tag.manifest.digest, {})


def test_the_same_first_push_by_many_makes_one_repository_with_one_manifest(repo):
    ats = [repo("pantry/fresh/aws") for _ in range(4)]

    answers = at_once(*(partial(at.put, index(), "main") for at in ats))

    assert [answer.status_code for answer in answers] == [201] * 4
    assert (Repository.objects.count(), Manifest.objects.count(), Tag.objects.count()) == (1, 1, 1)


def test_a_manifest_and_the_deletion_of_its_blob_never_both_succeed(repo):
    at, other = repo(), repo()
    for number in range(5):
        layer = f"layer {number}".encode()
        at.blob(b"{}")
        at.blob(layer)
        put, gone = at_once(
            partial(at.put, image(layer), "main"),
            partial(other.client.delete, f"/v2/pantry/vpc/aws/blobs/{digest_of(layer)}"),
        )
        kept = RepositoryBlob.objects.filter(blob__digest=digest_of(layer).partition(":")[2]).exists()
        assert kept == (put.status_code == 201), (put.status_code, gone.status_code)
        assert (put.status_code, gone.status_code) in {(201, 405), (404, 202), (201, 503)}
