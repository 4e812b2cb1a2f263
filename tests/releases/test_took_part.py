"""The people who took part in what a machine published, and so approve nothing of it. Dora wrote the rule; Alice, Bob
and Erin publish.

Those through Git and through a run are tested in their rooms.
"""

import json
from importlib import import_module

import pytest
from django.apps import apps
from django.utils import timezone

from apps.accounts import namespaces
from apps.accounts.access import machines
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Act, ApiToken, Grant, Membership, Role, Scope, TrustedPublisher, User
from apps.audit.models import AuditEvent
from apps.modules import answers
from apps.releases.models import Release, State
from apps.releases.origin.models import Participant
from apps.releases.publishing import approving, deciding, sweeping
from tests import pages
from tests.builders.approving import ask_for_approval, client_of, decide, machine_of, publisher, team_of
from tests.builders.archives import module_zip
from tests.builders.ci_runs import add_rule
from tests.cast import person
from tests.rows import for_each_row
from tests.shelves import run_jobs

pytestmark = pytest.mark.django_db


@pytest.fixture
def space(acme, alice, bob, dora):
    publisher(bob, acme)
    ask_for_approval(acme)
    return acme


@pytest.fixture
def rule(space, dora):
    return add_rule(space, dora)


@pytest.fixture
def from_ci(rule, published) -> Release:
    return published(user=rule.user)


def may_decide(user: User, release: Release) -> bool:
    """The list, the reason that is shown, and who gets a mail, say the same."""
    listed = approving.waiting_for(Viewer(user)).filter(pk=release.pk).exists()
    assert listed == (deciding.refusal_of(release, Viewer(user)) is None)
    if not user.is_service:
        assert listed == (user in deciding.approvers_of(release))
    return listed


def why_of(client, release: Release) -> str:
    """Refused, whatever the way: what the audit has."""
    answer = decide(client, release, "approve")
    assert answer.status_code == 403, answer.content
    assert decide(client, release, "decline", reason="No").status_code == 403
    release.refresh_from_db()
    assert release.state == State.AWAITING_APPROVAL
    return str(AuditEvent.objects.filter(kind="namespace:release:approval-refused").latest("pk").detail["why"])


@pytest.mark.both
def test_who_wrote_the_trusted_publisher_does_not_approve_what_it_published(from_ci, rule, alice, dora):
    client = client_of(dora, scope=Scope.MANAGE)

    assert why_of(client, from_ci) == "wrote-the-trusted-publisher"

    assert not may_decide(dora, from_ci)
    assert may_decide(alice, from_ci)
    TrustedPublisher.objects.filter(pk=rule.pk).update(ended_at=timezone.now())
    machines.end(rule.user_id)
    assert why_of(client, from_ci) == "wrote-the-trusted-publisher", "a rule that ended ties as before"
    assert decide(client_of(alice), from_ci, "approve").status_code == 202
    run_jobs()
    from_ci.refresh_from_db()
    assert from_ci.state == State.PUBLISHED


def test_their_other_accounts_and_service_accounts_do_not_either(from_ci, space, alice, bob, dora):
    User.objects.filter(pk=dora.pk).update(email="dora@example.com")
    User.objects.filter(pk=bob.pk).update(email="Dora@Example.com")
    bob.refresh_from_db()
    bot = machine_of(team_of(dora, space), dora)

    assert why_of(client_of(bob), from_ci) == "wrote-the-trusted-publisher"
    assert why_of(client_of(bot, maker=dora), from_ci) == "wrote-the-trusted-publisher"
    assert not may_decide(bob, from_ci)
    assert not may_decide(bot, from_ci)
    assert may_decide(alice, from_ci)
    assert may_decide(machine_of(team_of(alice, space, "bakers"), alice), from_ci)


def test_nor_after_they_handed_the_namespace_on(from_ci, space, alice, dora):
    own = Grant.objects.get(namespace=space, user=dora)
    namespaces.transfer(namespace=space, to=alice, actor=Viewer(dora), giver=own, keep_publisher=True)

    assert why_of(client_of(dora), from_ci) == "wrote-the-trusted-publisher"
    assert may_decide(alice, from_ci)


def test_an_operator_approves_unless_they_took_part(space, rule, olga, published):
    """They can act for every service account of a team, and for no machine of a rule or a repository."""
    publisher(olga, space)
    assert may_decide(olga, published(user=rule.user))

    own = add_rule(space, olga, ref="refs/tags/v*")

    assert why_of(client_of(olga), published(user=own.user, version="1.3.0")) == "wrote-the-trusted-publisher"


@for_each_row(("act", "why"), [(Act.STARTED, "started"), (Act.CHANGED, "changed"), (Act.SCANNED, "scanned")])
def test_who_had_a_hand_in_what_a_machine_publishes_for_does_not_approve(act, why, from_ci, rule, alice, bob):
    machines.acted(rule.user_id, Viewer(bob), act)
    machines.acted(rule.user_id, Viewer(bob), act)

    assert why_of(client_of(bob), from_ci) == f"{why}-the-repository"
    assert not may_decide(bob, from_ci)
    assert may_decide(alice, from_ci)


@pytest.mark.both
def test_a_service_account_that_acted_ties_those_who_can_make_its_tokens(from_ci, rule, space, alice, bob, olga):
    publisher(olga, space)
    bot = machine_of(team_of(bob, space), bob)
    machines.acted(rule.user_id, Viewer(bot), Act.CHANGED)

    assert [may_decide(one, from_ci) for one in (bob, bot, olga, alice)] == [False, False, False, True]


# --- The token of a service account -----------------------------------------------------------------------------------


def put(client, version: str = "1.2.0") -> Release:
    url = f"/api/v1/modules/acme/vpc/aws/{version}?confirm=unloadable"
    answer = client.put(url, module_zip(comment=version.encode()), content_type="application/octet-stream")
    assert answer.status_code == 202, answer.content
    run_jobs()
    return Release.objects.get(version=version)


@pytest.mark.both
def test_who_made_the_token_does_not_approve_what_it_published_even_after_it_ended(space, alice, bob):
    """Bob made it as a manager, publishes with it, revokes it and steps down."""
    team = team_of(bob, space)
    bot = machine_of(team, bob)
    release = put(client_of(bot, maker=bob))

    tokens.revoke(token=ApiToken.objects.get(user=bot), actor=Viewer(bob))
    Membership.objects.filter(team=team, user=bob).update(is_manager=False)

    assert why_of(client_of(bob), release) == "created-the-token"
    assert not may_decide(bob, release)
    assert may_decide(alice, release)


def test_who_answered_its_questions_does_not_approve_it(space, rule, alice, bob, published):
    release = published(user=rule.user)
    Release.objects.filter(pk=release.pk).update(state=State.HELD, questions=[])
    release.refresh_from_db()
    answers.answer(release=release, viewer=Viewer(bob), confirm=[])
    run_jobs()
    release.refresh_from_db()

    assert release.state == State.AWAITING_APPROVAL
    assert why_of(client_of(bob), release) == "answered-its-questions"
    assert may_decide(alice, release)


# --- What those who took part read, and what they can do --------------------------------------------------------------


def test_the_api_and_the_page_say_why_and_whom_to_ask(from_ci, dora, browser_of):
    said = "You added the trusted publisher that published it: someone else has to decide."
    answer = decide(client_of(dora), from_ci, "approve").json()["error"]
    assert (answer["message"], answer["hint"]) == (said, "Ask alice or bob.")
    shown = client_of(dora).get(f"/api/v1/releases/{from_ci.public_id}/approval").json()
    assert shown["refusal"] == f"{said} Ask alice or bob."

    page = pages.text_of(browser_of(dora).get(f"/releases/{from_ci.public_id}"))

    assert f"{said} Ask alice or bob." in page
    assert "Approve and publish" not in page
    assert "Cancel this release" in page


def test_if_nobody_else_may_they_read_who_can_change_that(from_ci, alice, bob, dora, space):
    Grant.objects.filter(namespace=space, user__in=[alice.pk, bob.pk]).delete()

    hint = decide(client_of(dora), from_ci, "approve").json()["error"]["hint"]

    assert hint == (
        "No one with the role publisher in acme can approve it. An owner (dora) can give that role to someone who took "
        "no part, or ask an operator."
    )


def test_many_names_are_cut_off(from_ci, space, dora):
    for number in range(3):
        publisher(person(f"erin{number}"), space)

    assert (
        decide(client_of(dora), from_ci, "approve").json()["error"]["hint"]
        == "Ask alice, bob, erin0 or another publisher."
    )


def test_who_took_part_can_cancel_what_a_machine_published_and_others_decline_it(from_ci, alice, dora):
    url = f"/api/v1/releases/{from_ci.public_id}/cancel"
    assert client_of(alice).post(url).status_code == 409

    assert client_of(dora).post(url).status_code == 200

    from_ci.refresh_from_db()
    assert (from_ci.state, from_ci.reasons[0]["code"]) == (State.REJECTED, "cancelled")
    assert "someone who took part in it cancelled" in from_ci.reasons[0]["found"]


def test_marks_are_forgotten_once_the_release_has_ended(from_ci, alice):
    Participant.objects.create(release=from_ci, mark="a" * 64, part="actor")
    Participant.objects.create(release=from_ci, user=alice, part="retry")
    sweeping.sweep()
    assert from_ci.participants.count() == 2

    Release.objects.filter(pk=from_ci.pk).update(state=State.REJECTED)
    sweeping.sweep()

    assert list(from_ci.participants.values_list("user", "mark")) == [(alice.pk, "")]


def test_a_role_is_still_needed(from_ci, charlie):
    body = json.dumps({"digest": f"sha256:{from_ci.digest}"})
    url = f"/api/v1/releases/{from_ci.public_id}/approve"
    assert client_of(charlie).post(url, body, content_type="application/json").status_code == 404
    assert Grant.objects.filter(role=Role.OWNER).exists()


@pytest.mark.both
def test_an_upgrade_fills_in_who_made_the_tokens_of_what_is_in_progress(space, alice, bob):
    bot = machine_of(team_of(bob, space), bob)
    release = put(client_of(bot, maker=bob))
    Participant.objects.all().delete()

    import_module("apps.releases.migrations.0009_took_part").fill_in_makers_of_tokens(apps, None)

    assert [(one.release, one.user, one.part) for one in Participant.objects.all()] == [(release, bob, "token")]
