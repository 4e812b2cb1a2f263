"""POST …/deprecate, yank, quarantine, restore and purge."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import Scope
from apps.audit.models import AuditEvent
from apps.releases.models import Release
from tests.rows import for_each_row

pytestmark = pytest.mark.usefixtures("shelf")

URL = "/api/v1/modules/acme/vpc/aws/1.2.0"
CONFIRM = {"confirm": "acme/vpc/aws 1.2.0"}


@pytest.fixture
def post(tofu):
    def send(user, act, scope=Scope.MANAGE, url=URL, **body):
        data = json.dumps({"reason": "It loses data.", **body})
        return tofu(user, scope).generic("POST", f"{url}/{act}", data, content_type="application/json")

    return send


def error_of(response):
    return json.loads(response.content)["error"]


def said(response):
    found = json.loads(response.content)["lifecycle"]
    return found["state"], found["reason"], found["replacement"], found["by"]


def test_deprecating_answers_the_release_document(published, post, alice, tofu):
    published()
    fresh = tofu(alice).get(URL)
    assert said(fresh) == ("maintained", "", "", None)
    assert json.loads(fresh.content)["lifecycle"]["at"] is None

    response = post(alice, "deprecate", replacement="acme/network/aws 2.0.0")
    document = json.loads(response.content)

    assert response.status_code == 200
    assert (document["version"], document["state"], document["quarantined"]) == ("1.2.0", "published", False)
    assert said(response) == ("deprecated", "It loses data.", "acme/network/aws 2.0.0", "alice")
    assert document["lifecycle"]["at"].endswith("Z")
    assert json.loads(tofu(alice).get(URL).content)["lifecycle"] == document["lifecycle"]


def test_who_did_it_is_for_those_who_are_signed_in(published, tofu, post, alice):
    published("pantry/vpc/aws", "1.2.0")
    url = URL.replace("acme", "pantry")
    post(alice, "deprecate", url=url)

    assert said(tofu(alice).get(url))[3] == "alice"
    assert said(tofu().get(url))[:2] == ("deprecated", "It loses data.")
    assert said(tofu().get(url))[3] is None


def test_a_quarantine_hides_what_lies_under_it_until_it_is_lifted(published, post, tofu, dora, bob, olga):
    published()
    assert said(post(dora, "yank")) == ("yanked", "It loses data.", "", "dora")
    again = post(dora, "yank", reason="Once more.")
    assert (again.status_code, error_of(again)["code"]) == (409, "conflict")
    assert error_of(again)["message"].startswith("acme/vpc/aws 1.2.0 is yanked since 20")
    assert error_of(again)["message"].endswith("UTC, by dora: It loses data.")

    held = json.loads(post(olga, "quarantine", reason="Malware.").content)
    assert (held["quarantined"], held["lifecycle"]["state"]) == (True, "yanked")
    assert tofu(bob).get(URL).status_code == 404
    lifted = json.loads(post(olga, "restore", reason="A false alarm.").content)
    assert (lifted["quarantined"], lifted["lifecycle"]["state"]) == (False, "yanked")
    assert tofu(bob).get(URL).status_code == 200
    assert said(post(dora, "restore", reason="It was another one.")) == ("maintained", "", "", None)


@for_each_row(
    ("body", "found"),
    [
        ({"reason": " \t "}, "The reason is empty."),
        ({"reason": "x" * 501}, "The reason has 501 characters, expected at most 500."),
        ({"reason": "a\u0007b"}, "control characters"),
        ({"reason": None}, "reason"),
        ({"replacement": "x" * 201}, "The replacement has 201 characters, expected at most 200."),
        ({"reasons": "typo"}, "There is no field 'reasons'."),
    ],
    ids=["blank", "long", "control", "null", "replacement", "unknown"],
)
def test_what_it_cannot_take_is_refused_with_words(published, post, alice, body, found):
    published()
    response = post(alice, "deprecate", **body)

    assert response.status_code == 422
    assert found in error_of(response)["message"]
    assert Release.objects.get().lifecycle == "maintained"


def test_publishers_yank_their_own_release_for_three_days(published, post, alice, dora):
    published()
    assert said(post(alice, "yank"))[0] == "yanked"
    assert said(post(alice, "restore"))[0] == "maintained"
    Release.objects.update(published_at=timezone.now() - timedelta(hours=72))
    late = post(alice, "yank")

    assert late.status_code == 403
    assert "the role owner in acme; you have publisher" in error_of(late)["message"]
    assert "within 72 hours" in error_of(late)["hint"]
    assert said(post(dora, "yank"))[0] == "yanked"
    audit = AuditEvent.objects.filter(kind="namespace:release:yanked").order_by("pk")
    assert [event.actor_id for event in audit] == [alice.pk, dora.pk]


def test_publishers_yank_nothing_of_others_and_take_back_no_yank_of_others(published, post, alice, dora):
    release = published()
    post(dora, "yank")
    assert post(alice, "restore").status_code == 403
    post(dora, "restore")
    Release.objects.filter(pk=release.pk).update(created_by=dora)
    assert post(alice, "yank").status_code == 403
    Release.objects.filter(pk=release.pk).update(created_by=None)
    assert post(alice, "yank").status_code == 403
