"""The letters about a release to its publisher, and to those who watch its module."""

import json

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, User
from apps.modules import answers
from apps.notify import outbox
from apps.notify.models import Letter, Topic, Watch
from tests.builders.approving import ask_for_approval, client_of, decide, machine_of, publisher, team_of
from tests.builders.archives import module_zip
from tests.rows import for_each_row
from tests.shelves import run_jobs

pytestmark = pytest.mark.django_db
BEFORE = module_zip({"main.tf": 'variable "name" {\n  default = "x"\n}\n'})
AFTER = module_zip({"main.tf": 'variable "name" {}\n'})
FOUND = (
    "Found 1 breaking change since 1.2.0: input name (default removed: the input is now required), expected a number"
)


@pytest.fixture
def letter(published, alice):
    """About 1.3.0, which breaks something without saying so, under that rule."""

    def about(rule: str) -> Letter:
        alice.email = "alice@acme.example"
        alice.save()
        published(version="1.2.0", data=BEFORE)
        Namespace.objects.update(breaking_changes=rule)
        published(version="1.3.0", data=AFTER)
        outbox.dispatch()
        return Letter.objects.get()

    return about


def test_a_held_release_asks_its_publisher_and_says_what(letter):
    held = letter("ask")

    assert held.subject == "acme/vpc/aws 1.3.0 needs your answer"
    assert held.text.startswith(f"{held.subject}.\n{FOUND}")


def test_a_refused_one_says_why_in_sentences(letter):
    assert letter("refuse").text.startswith(f"acme/vpc/aws 1.3.0 was rejected.\n{FOUND}")


def test_who_watches_reads_what_a_new_version_breaks_and_why(published, alice, bob):
    bob.email = "bob@acme.example"
    bob.save()
    Watch.objects.create(user=bob, namespace=Namespace.objects.get(name="acme"), name="vpc/aws")
    published(version="1.2.0", data=BEFORE)
    published(version="2.0.0", data=AFTER)
    published(version="2.0.1", data=AFTER)
    Namespace.objects.update(breaking_changes="ask")
    held = published(version="2.1.0", data=module_zip({"main.tf": ""}))
    answers.answer(release=held, viewer=Viewer(alice), confirm=["breaking-change"], reason="<b>Nobody</b> set it.")
    run_jobs()
    outbox.dispatch()

    first, major, patch, minor = Letter.objects.filter(user=bob).order_by("pk")
    assert "Breaks" not in first.text + patch.text
    assert major.text.endswith("published by alice.\nBreaks users of 1.2.0: input name.")
    assert minor.text.endswith("\nBreaks users of 2.0.1: input name.\nIts publisher says: <b>Nobody</b> set it.")


# --- Who hears of a release that awaits approval, and of the decision: by mail and by webhooks -----------------------


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


@pytest.mark.both
def test_those_who_can_decide_get_a_letter_and_its_author_none(waiting):
    found = letters()

    assert set(found) == {"bob", "dora"}
    assert found["bob"].subject == "alice asks you to approve acme/vpc/aws 1.2.0"
    assert "Worth a look: This is the first release of acme/vpc/aws." in found["bob"].text
    assert found["bob"].topic == Topic.APPROVALS


@for_each_row(
    ("act", "more", "says"),
    [
        ("approve", {}, "acme/vpc/aws 1.2.0 was approved by bob"),
        ("decline", {"reason": "Not today"}, "a release that was declined: Not today"),
    ],
)
def test_the_author_alone_reads_once_how_it_was_decided_and_why(waiting, bob, act, more, says):
    Letter.objects.all().delete()
    decide(client_of(bob), waiting, act, **more)
    outbox.dispatch()

    letter = Letter.objects.get()
    assert str(letter.user) == "alice"
    assert says in f"{letter.subject}\n{letter.text}"


def test_a_bot_can_do_all_of_it_with_a_token_of_scope_publish(waiting, bob):
    bot = client_of(machine_of(team_of(bob, waiting.namespace, "bakers"), bob, "bot"), maker=bob)
    found = bot.get("/api/v1/approvals").json()["releases"][0]

    said = {"digest": found["digest"]}
    answer = bot.post(f"/api/v1/releases/{found['id']}/approve", json.dumps(said), content_type="application/json")

    assert answer.status_code == 202
