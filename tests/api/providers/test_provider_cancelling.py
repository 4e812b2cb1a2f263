"""DELETE of a provider's version: cancels a draft, and nothing else."""

from apps.audit.models import AuditEvent
from apps.providers.models import Package
from tests.providers.draft_client import LINUX, body, codes, dist, signed, work


def test_a_draft_is_cancelled_with_its_files_and_its_number_is_free(draft_client, alice, stored_files):
    assert draft_client.client.delete(draft_client.url).status_code == 404
    first = body(draft_client.open())
    draft_client.put(LINUX, b"package")
    response = draft_client.client.delete(draft_client.url)

    assert (response.status_code, response.content) == (204, b"")
    assert draft_client.client.delete(draft_client.url).status_code == 404
    assert (draft_client.get()["state"], codes(draft_client.get())) == ("rejected", ["cancelled"])
    assert stored_files() == []
    event = AuditEvent.objects.get(kind="namespace:release:rejected")
    assert (event.actor_id, event.subject) == (alice.pk, "acme/dns 1.2.0")
    again = draft_client.open()
    assert again.status_code == 201
    assert body(again)["id"] != first["id"]


def test_what_is_handed_in_or_published_is_a_conflict_that_says_so(draft_client, registered):
    draft_client.open()
    for name, data in signed(dist()).items():
        draft_client.put(name, data)
    draft_client.hand_in()
    for state in ("received", "published"):
        response = draft_client.client.delete(draft_client.url)
        assert response.status_code == 409
        assert f"is {state}: only drafts can be cancelled" in body(response)["error"]["message"]
        work()
    assert draft_client.get()["state"] == "published"
    assert Package.objects.count() == 2
