"""Calls on a draft that meet, or that come late."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.lib.errors import Conflict
from apps.providers import publishing
from apps.releases.models import Release, ReleaseFile
from apps.releases.publishing import drafting
from tests.providers.draft_client import LINUX, STEM, DraftClient, body, dist, signed, work
from tests.rows import for_each_row
from tests.threads import at_once


@pytest.fixture
def filled(draft_client, registered):
    """Alice's draft, with all its files."""
    draft_client.open()
    for name, data in signed(dist()).items():
        draft_client.put(name, data)
    return draft_client


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_of_eight_that_hand_in_at_once_all_hear_that_it_is_handed_in(filled, tofu, alice):
    desks = [DraftClient(tofu(alice)) for _ in range(8)]
    answers = at_once(*(one.hand_in for one in desks))

    assert [answer.status_code for answer in answers] == [202] * 8
    assert len({body(answer)["id"] for answer in answers}) == 1
    assert Job.objects.filter(kind=publishing.JOB).count() == 1
    assert AuditEvent.objects.filter(kind="namespace:release:received").count() == 1


@for_each_row(("is_done", "state"), [(False, "received"), (True, "published")])
def test_who_saw_a_draft_and_comes_second_hears_how_far_it_is(filled, alice, is_done, state):
    seen = Release.objects.get()
    filled.hand_in()
    if is_done:
        work()

    assert publishing.hand_in(viewer=Viewer(alice), release=seen).state == state
    assert Job.objects.filter(kind=publishing.JOB).count() == 1


def test_who_saw_a_draft_that_is_cancelled_meanwhile_hears_a_conflict(filled, alice):
    seen = Release.objects.get()
    assert filled.client.delete(filled.url).status_code == 204

    with pytest.raises(Conflict):
        drafting.hand_in(release=seen, viewer=Viewer(alice), job=publishing.JOB, digest_of=lambda _: "")
    assert not Job.objects.filter(kind=publishing.JOB).exists()


@pytest.mark.parametrize(("is_done", "state"), [(False, "received"), (True, "published")])
@pytest.mark.parametrize("name", [LINUX, f"{STEM}_linux_386.zip"])
def test_a_file_that_is_removed_too_late_stays_and_its_owner_hears_why(filled, is_done, state, name):
    filled.hand_in()
    if is_done:
        work()
    response = filled.delete(name)

    assert response.status_code == 409
    assert body(response)["error"]["message"] == f"acme/dns 1.2.0 is {state}: its files can no longer change."
    assert "another version number" in body(response)["error"]["hint"]
    assert ReleaseFile.objects.filter(name=LINUX).exists()
