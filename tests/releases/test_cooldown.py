"""The cool-down of a namespace: its setting, what becomes of a release, and the exception by an owner."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import Namespace
from apps.audit import generation
from apps.audit.models import AuditEvent
from apps.releases.catalogue import showing
from apps.releases.models import Release, SearchDoc
from tests import pages

pytestmark = pytest.mark.django_db
URL = "/api/v1/namespaces/acme"
VERSION = "/api/v1/modules/acme/vpc/aws/1.2.0"
JSON = "application/json"


@pytest.fixture
def held(acme, published) -> Release:
    """acme/vpc/aws 1.2.0, published under a cool-down of a day, and 1.0.0 from before."""
    published(version="1.0.0")
    Namespace.objects.filter(pk=acme.pk).update(cooldown_hours=24)
    return published(version="1.2.0")


def end(client, reason="A security fix"):
    return client.post(f"{VERSION}/end-cooldown", json.dumps({"reason": reason}), content_type=JSON)


# --- The setting ------------------------------------------------------------------------------------------------------


def test_owners_set_it_by_put_and_patch(tofu, dora):
    client = tofu(dora)
    for hours in (-1, 24 * 90 + 1, "soon"):
        wrong = json.dumps({"visibility": "private", "cooldown_hours": hours})
        assert client.put(URL, wrong, content_type=JSON).status_code == 422, hours
    assert client.get(URL).json()["cooldown_hours"] == 0

    body = {"visibility": "private", "cooldown_hours": 48}
    assert client.put(URL, json.dumps(body), content_type=JSON).json()["cooldown_hours"] == 48
    kept = client.put(URL, '{"visibility": "private"}', content_type=JSON)
    assert kept.json()["cooldown_hours"] == 48
    changed = client.patch(URL, '{"cooldown_hours": 0}', content_type=JSON)

    assert changed.json()["cooldown_hours"] == 0
    first = AuditEvent.objects.filter(kind="namespace:namespace:changed").earliest("pk")
    assert first.detail["changes"] == {"cooldown_hours": [0, 48]}


def test_owners_set_it_on_the_page(browser_of, dora, acme):
    sent = {"breaking_changes": "warn", "cooldown_hours": "12"}

    assert browser_of(dora).post("/namespaces/acme/rules", sent).status_code == 303

    acme.refresh_from_db()
    assert acme.cooldown_hours == 12
    assert 'value="12"' in browser_of(dora).get("/namespaces/acme/rules").content.decode()


# --- The date ---------------------------------------------------------------------------------------------------------


def test_a_release_gets_its_date_when_it_is_published_and_keeps_it(held, tofu, alice, dora):
    before = held.visible_at
    assert before - held.published_at == timedelta(hours=24)
    event = AuditEvent.objects.filter(kind="namespace:release:published").latest("pk")
    assert event.detail["visible_at"] == before.isoformat()
    assert tofu(alice).get(VERSION).json()["visible_at"] == before.isoformat().replace("+00:00", "Z")
    assert tofu(alice).get(VERSION.replace("1.2.0", "1.0.0")).json()["visible_at"] is None

    tofu(dora).patch(URL, '{"cooldown_hours": 0}', content_type=JSON)
    assert showing.show_due() == 0
    held.refresh_from_db()
    assert (held.visible_at, held.is_held_back) == (before, True)


# --- The exception ----------------------------------------------------------------------------------------------------


def test_an_owner_ends_the_cool_down_of_one_release(held, tofu, dora, bob, published):
    other = published(version="1.3.0")

    assert end(tofu(dora), reason="  ").status_code == 422
    answer = end(tofu(dora))

    assert answer.status_code == 200
    assert answer.json()["visible_at"] is None
    listed = tofu(bob).get("/v1/modules/acme/vpc/aws/versions").json()["modules"][0]["versions"]
    assert [one["version"] for one in listed] == ["1.2.0", "1.0.0"]
    assert SearchDoc.objects.get(name="vpc/aws").version == "1.2.0"
    other.refresh_from_db()
    assert other.is_held_back
    event = AuditEvent.objects.get(kind="namespace:release:cool-down-ended")
    assert (event.subject, event.actor_id) == ("acme/vpc/aws 1.2.0", dora.pk)
    assert event.detail["reason"] == "A security fix"
    assert event.detail["would_have_ended"] == held.visible_at.isoformat()
    again = end(tofu(dora))
    assert again.status_code == 409
    assert "is not in a cool-down" in again.json()["error"]["message"]


def test_publishers_and_readers_do_not_end_it(held, tofu, alice, bob):
    assert end(tofu(alice)).status_code == 403
    assert end(tofu(bob)).status_code == 403
    held.refresh_from_db()
    assert held.is_held_back


# --- The time comes ---------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_when_the_time_has_come_searches_name_it_and_ready_answers_end(held, acme, django_assert_num_queries):
    assert SearchDoc.objects.get(name="vpc/aws").version == "1.0.0"
    Release.objects.filter(pk=held.pk).update(visible_at=timezone.now() - timedelta(seconds=1))
    touched = []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "touch", lambda scopes, **_: touched.append(scopes))
        assert showing.show_due() == 1

    assert SearchDoc.objects.get(name="vpc/aws").version == "1.2.0"
    assert touched == [{generation.published_in("acme"), generation.published_at("acme/vpc/aws")}]
    held.refresh_from_db()
    assert held.visible_at is None
    with django_assert_num_queries(1):
        assert showing.show_due() == 0


# --- Pages ------------------------------------------------------------------------------------------------------------


def test_pages_show_it_with_badge_and_date_to_everyone_who_sees_it(held, browser_of, alice, bob, dora):
    date = f"{held.visible_at:%Y-%m-%d}"
    reader = browser_of(bob)

    shown = pages.shown(reader.get("/modules/acme/vpc/aws/1.2.0"))
    assert "This version is in its cool-down" in shown
    assert date in shown
    assert "End the cool-down" not in shown
    assert "Cool-down until" in pages.shown(reader.get("/modules/acme/vpc/aws/versions"))
    assert "cool-down" not in pages.shown(reader.get("/modules/acme/vpc/aws/1.0.0")).lower()
    assert "1.0.0" in pages.shown(reader.get("/modules/acme/vpc/aws")), "the default version is the one clients get"
    assert "End the cool-down" in pages.shown(browser_of(dora).get("/modules/acme/vpc/aws/1.2.0"))
    published_here = pages.shown(browser_of(alice).get(f"/releases/{held.public_id}"))
    assert "data-cooldown" in published_here
    assert date in published_here


def test_an_owner_ends_it_on_the_page(held, browser_of, dora, alice):
    url = "/modules/acme/vpc/aws/1.2.0/lifecycle"
    assert "End it now" not in pages.shown(browser_of(alice).get(url))
    owner = browser_of(dora)
    assert "End it now" in pages.shown(owner.get(url))

    done = owner.post(url, {"act": "end_cooldown", "reason": "A security fix"}, follow=True)

    assert "Clients see acme/vpc/aws 1.2.0 now." in pages.shown(done)
    held.refresh_from_db()
    assert held.visible_at is None


def test_a_module_with_nothing_else_is_on_pages_and_in_no_protocol_list(acme, published, browser_of, bob, tofu):
    Namespace.objects.filter(pk=acme.pk).update(cooldown_hours=24)
    published("acme/subnet/aws", "1.0.0")

    assert "acme/subnet/aws" in pages.shown(browser_of(bob).get("/namespaces/acme")).replace("<wbr>", "")
    assert tofu(bob).get("/v1/modules/acme").json()["modules"] == []
    assert tofu(bob).get("/v1/modules/acme/subnet/aws").status_code == 404
