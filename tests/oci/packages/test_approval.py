"""A push into a namespace that requires approval: a clear answer, and nothing that anybody can pull before."""

import pytest

from apps.releases.models import Release, State
from tests.builders.approving import ask_for_approval, client_of, decide, publisher
from tests.builders.archives import module_zip
from tests.oci.manifests.documents import code_of, digest_of, package
from tests.oci.packages.samples import LATER, NAME, RAW, ZIP, said


@pytest.fixture
def space(pantry, alice, bob):
    publisher(bob, pantry)
    ask_for_approval(pantry)
    return pantry


def test_a_push_is_answered_with_the_page_on_which_it_is_approved(space, push, settings):
    answer = push()

    release = Release.objects.get()
    assert release.state == State.AWAITING_APPROVAL
    assert code_of(answer) == (409, "DENIED")
    assert f"awaits approval by another person: {settings.PUBLIC_URL}/releases/{release.public_id}" in said(answer)
    assert code_of(push()) == (409, "DENIED")
    assert Release.objects.count() == 1


@pytest.mark.both
def test_nobody_pulls_it_before_by_tag_or_by_digest(space, push, pusher, bob, work):
    push()
    client = pusher(NAME)

    assert client.get("1.2.0").status_code == 404
    assert client.get(digest_of(RAW)).status_code == 404
    assert code_of(client.delete(digest_of(RAW))) == (405, "UNSUPPORTED"), "the manifest stays while it waits"
    assert decide(client_of(bob), Release.objects.get(), "approve").status_code == 202
    work()
    assert client.get(digest_of(RAW)).content == client.get("1.2.0").content == RAW
    assert push().status_code == 201


def test_another_tag_leads_to_nothing_that_nobody_approved(space, push, pusher, bob, work):
    for tag in ("latest", "dev"):
        answer = push(tag=tag)
        assert code_of(answer) == (409, "DENIED")
        assert "can only be a tag of a published version" in said(answer)
        assert pusher(NAME).get(tag).status_code == 404

    push()
    decide(client_of(bob), Release.objects.get(), "approve")
    work()

    assert push(tag="dev").status_code == 201
    assert pusher(NAME).get("dev").content == RAW


def test_a_tag_from_before_is_not_served_any_more_unless_it_is_a_release(pantry, push, pusher):
    other = module_zip(comment=b"other")
    assert push(package(other), tag="dev", archive=other).status_code == 201
    assert pusher(NAME).get("dev").status_code == 200

    ask_for_approval(pantry)

    assert pusher(NAME).get("dev").status_code == 404


def test_another_zip_under_the_number_is_refused_until_the_first_is_declined(space, push, bob):
    push()
    other = module_zip(comment=b"other")
    answer = push(package(other), archive=other)
    assert code_of(answer) == (409, "DENIED")
    assert "is being published with the archive" in said(answer)

    decide(client_of(bob), Release.objects.get(), "decline", reason="Not today")

    assert push(package(other), archive=other).status_code == 409
    assert Release.objects.latest("pk").state == State.AWAITING_APPROVAL
    assert push(LATER, archive=ZIP).status_code == 409
