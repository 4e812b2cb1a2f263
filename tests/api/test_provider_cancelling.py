"""DELETE of a provider's version: cancels a draft, and nothing else."""

import pytest

from apps.accounts.models import Scope
from apps.audit.models import AuditEvent
from apps.providers.models import Package
from apps.releases.models import Release
from tests.providers.conftest import desk, registered
from tests.providers.desk import LINUX, URL, Desk, body, codes, dist, signed, work

__all__ = ["desk", "registered"]


def test_a_draft_is_cancelled_with_its_files_and_its_number_is_free(desk, alice, stored_files):
    first = body(desk.open())
    desk.put(LINUX, b"package")
    response = desk.client.delete(desk.url)

    assert (response.status_code, response.content) == (204, b"")
    assert (desk.get()["state"], codes(desk.get())) == ("rejected", ["cancelled"])
    assert stored_files() == []
    event = AuditEvent.objects.get(kind="namespace:release:rejected")
    assert (event.actor_id, event.subject) == (alice.pk, "acme/dns 1.2.0")
    again = desk.open()
    assert again.status_code == 201
    assert body(again)["id"] != first["id"]


def test_where_there_is_no_draft_it_is_not_found(desk):
    assert desk.client.delete(desk.url).status_code == 404
    desk.open()
    assert desk.client.delete(desk.url).status_code == 204
    assert desk.client.delete(desk.url).status_code == 404


def test_what_is_handed_in_or_published_is_a_conflict_that_says_so(desk, registered):
    desk.open()
    for name, data in signed(dist()).items():
        desk.put(name, data)
    desk.hand_in()
    assert "is received: only a draft can be cancelled" in body(refused(desk))["error"]["message"]
    work()
    assert "is published: only a draft can be cancelled" in body(refused(desk))["error"]["message"]
    assert desk.get()["state"] == "published"
    assert Package.objects.count() == 2


def refused(desk):
    response = desk.client.delete(desk.url)
    assert response.status_code == 409
    return response


@pytest.mark.parametrize(("who", "status"), [("dora", 204), ("bob", 403), ("charlie", 404), (None, 401)])
def test_whoever_publishes_there_cancels_it_as_on_its_page(request, desk, tofu, who, status):
    desk.open()
    other = Desk(tofu(request.getfixturevalue(who) if who else None))

    assert other.client.delete(URL).status_code == status
    assert Release.objects.get().state == ("rejected" if status == 204 else "receiving")


@pytest.mark.parametrize(("only_name", "status"), [("dns", 204), ("net", 403)])
def test_a_token_for_another_type_cancels_nothing(desk, bearer, alice, acme, only_name, status):
    desk.open()
    headers = bearer(alice, Scope.PUBLISH, namespaces=[acme], only_name=only_name)

    assert desk.client.delete(URL, headers=headers).status_code == status
