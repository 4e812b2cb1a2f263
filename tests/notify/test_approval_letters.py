"""Who hears of a release that awaits approval, and of the decision: by mail and by webhooks."""

import json

import pytest

from apps.accounts.models import User
from apps.audit.models import AuditEvent
from apps.notify import outbox
from apps.notify.models import Letter, Shape, Topic
from apps.notify.notices import notices_of
from tests.builders.approving import ask_for_approval, client_of, decide, machine_of, publisher, team_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting(acme, alice, bob, dora, charlie, published):
    publisher(bob, acme)
    machine_of(team_of(bob, acme), bob)
    for user in (alice, bob, dora, charlie):
        User.objects.filter(pk=user.pk).update(email=f"{user}@acme.example")
    ask_for_approval(acme)
    release = published(version="1.2.0")
    outbox.dispatch()
    return release


def letters():
    return {str(letter.user): letter for letter in Letter.objects.order_by("pk")}


def told(kind):
    """The body of a webhook about the latest event of that kind."""
    event = AuditEvent.objects.filter(kind=kind).latest("pk")
    return json.loads(outbox.body_of(notices_of([event])[0], Shape.STANDARD))


@pytest.mark.both
def test_those_who_can_decide_get_a_letter_and_its_author_none(waiting):
    found = letters()

    assert set(found) == {"bob", "dora"}
    assert found["bob"].subject == "acme/vpc/aws 1.2.0 awaits approval"
    assert "Unusual: This is the first release of acme/vpc/aws." in found["bob"].text
    assert found["bob"].topic == Topic.APPROVALS


def test_the_author_hears_of_the_approval(waiting, bob):
    Letter.objects.all().delete()
    decide(client_of(bob), waiting, "approve")
    outbox.dispatch()

    assert [(str(letter.user), letter.subject) for letter in Letter.objects.all()] == [
        ("alice", "acme/vpc/aws 1.2.0 was approved by bob")
    ]


def test_the_author_reads_why_it_was_declined_once(waiting, bob):
    Letter.objects.all().delete()
    decide(client_of(bob), waiting, "decline", reason="Not today")
    outbox.dispatch()

    letter = Letter.objects.get()
    assert str(letter.user) == "alice"
    assert "a release that was declined: Not today" in letter.text


def test_webhooks_have_what_a_bot_needs(waiting, bob, settings):
    body = told("namespace:release:approval-requested")

    assert body["type"] == "release.awaiting-approval"
    data = body["data"]
    assert (data["release"], data["digest"]) == (str(waiting.public_id), waiting.digest)
    assert data["unusual"] == ["This is the first release of acme/vpc/aws."]
    assert data["url"] == f"{settings.PUBLIC_URL}/releases/{waiting.public_id}"
    assert data["by"] is None

    decide(client_of(bob), waiting, "decline", reason="Not today")
    declined = told("namespace:release:declined")
    assert (declined["type"], declined["data"]["reason"]) == ("release.declined", "Not today")
    assert declined["data"]["text"] == "acme/vpc/aws 1.2.0 was declined by bob."


def test_a_bot_can_do_all_of_it_with_a_token_of_scope_publish(waiting, bob):
    bot = client_of(machine_of(team_of(bob, waiting.namespace, "bakers"), bob, "bot"), maker=bob)
    found = bot.get("/api/v1/approvals").json()["releases"][0]

    said = {"digest": found["digest"]}
    answer = bot.post(f"/api/v1/releases/{found['id']}/approve", json.dumps(said), content_type="application/json")

    assert answer.status_code == 202
