"""Releases from Git or CI that two people have to approve. Dora wrote the rule; Alice, Bob and Erin took no part."""

import json
from typing import Any

import pytest

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, User
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.lib.errors import Conflict
from apps.releases.models import Release, State
from apps.releases.origin.models import Approval, Decision
from apps.releases.publishing import approving, deciding
from tests import pages
from tests.builders.approving import ask_for_approval, client_of, decide, machine_of, publisher, team_of
from tests.builders.ci_runs import add_rule
from tests.cast import person
from tests.sessions import in_browser
from tests.shelves import run_jobs
from tests.threads import at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def erin(acme) -> User:
    return publisher(person("erin"), acme)


@pytest.fixture
def rule(acme, alice, bob, dora, erin):
    publisher(bob, acme)
    ask_for_approval(acme)
    Namespace.objects.filter(pk=acme.pk).update(approval_needs_two_people=True)
    return add_rule(acme, dora)


@pytest.fixture
def waiting(rule, published) -> Release:
    return published(user=rule.user)


def listed(user: User) -> bool:
    return approving.waiting_for(Viewer(user)).exists()


@pytest.mark.both
def test_it_is_published_after_the_second_approval(waiting, alice, bob, erin, dora):
    first = decide(client_of(alice), waiting, "approve")

    assert (first.status_code, first.json()["state"]) == (202, "awaiting-approval")
    assert not Job.objects.filter(state="queued").exists()
    approval = Approval.objects.get(release=waiting)
    assert (approval.decision, approval.first_by, approval.decided_by) == (Decision.WAITING, alice, None)
    assert [listed(one) for one in (alice, bob, erin, dora)] == [False, True, True, False]
    again = decide(client_of(alice), waiting, "approve")
    assert again.status_code == 403
    assert again.json()["error"]["message"] == "You approved it already: someone else has to decide."

    assert decide(client_of(bob), waiting, "approve").status_code == 202
    run_jobs()

    waiting.refresh_from_db()
    assert waiting.state == State.PUBLISHED
    kinds = list(AuditEvent.objects.filter(detail__release=waiting.pk).order_by("pk").values_list("kind", "actor_id"))
    decided = [(kind.rpartition(":")[2], by) for kind, by in kinds if ":approved" in kind]
    assert decided == [("approved-first", alice.pk), ("approved", bob.pk)]


def test_not_after_two_approvals_of_one_person(waiting, acme, alice, bob):
    User.objects.filter(pk__in=[alice.pk, bob.pk]).update(email="alice@example.com")
    decide(client_of(alice), waiting, "approve")

    answer = decide(client_of(bob), waiting, "approve")

    assert answer.status_code == 403
    assert "Another account of yours approved it already" in answer.json()["error"]["message"]
    assert not listed(User.objects.get(pk=bob.pk))


def test_a_service_account_is_none_of_the_two(waiting, acme, erin):
    bot = machine_of(team_of(erin, acme), erin)

    answer = decide(client_of(bot, maker=erin), waiting, "approve")

    assert answer.status_code == 403
    assert "a service account is not a person" in answer.json()["error"]["message"]
    assert not listed(bot)


def test_one_person_who_took_no_part_declines_it(waiting, alice, browser_of):
    """Also the one who has approved it."""
    decide(client_of(alice), waiting, "approve")
    page = pages.text_of(browser_of(alice).get(f"/releases/{waiting.public_id}"))
    assert "Reason to decline" in page
    assert "You approved it already: someone else has to decide." in page

    assert decide(client_of(alice), waiting, "decline", reason="I looked again.").status_code == 200

    waiting.refresh_from_db()
    assert waiting.state == State.REJECTED


def test_what_a_person_publishes_needs_one(rule, published, bob):
    release = published()

    assert decide(client_of(bob), release, "approve").json()["state"] == "received"


def test_what_a_service_account_publishes_needs_two_as_pipelines_do(rule, acme, erin, published):
    release = published(user=machine_of(team_of(erin, acme), erin))

    assert Approval.objects.get(release=release).needs_two


@pytest.mark.both
def test_operators_require_it_everywhere(rule, acme, published, settings):
    Namespace.objects.update(approval_needs_two_people=False)
    assert not Approval.objects.get(release=published(user=rule.user)).needs_two
    settings.APPROVALS_NEED_TWO_PEOPLE = True

    assert Approval.objects.get(release=published(user=rule.user, version="1.3.0")).needs_two
    assert not Approval.objects.get(release=published(version="1.4.0")).needs_two


def test_switching_it_off_leaves_what_waits_as_it_is(waiting, alice, dora, tofu):
    body = json.dumps({"approval_needs_two_people": False})
    answer = tofu(dora).patch("/api/v1/namespaces/acme", body, content_type="application/json")
    assert answer.json()["approval_needs_two_people"] is False

    assert decide(client_of(alice), waiting, "approve").json()["state"] == "awaiting-approval"


def test_other_bytes_after_both_approvals_need_both_again(waiting, alice, bob):
    decide(client_of(alice), waiting, "approve")
    decide(client_of(bob), waiting, "approve")
    Approval.objects.update(digest="f" * 64)

    run_jobs()

    approval = Approval.objects.get(release=waiting)
    assert (approval.decision, approval.first_at, approval.first_by) == (Decision.WAITING, None, None)
    assert listed(alice)


def test_the_pages_say_who_approved_it_first_and_that_one_more_has_to(waiting, alice, bob, dora, browser_of):
    url = f"/releases/{waiting.public_id}"
    sent = {"digest": f"sha256:{waiting.digest}"}
    assert "Larder publishes it after the second approval." in pages.text_of(browser_of(alice).get(url))
    assert browser_of(alice).post(f"{url}/approve", sent).status_code == 303

    page = pages.text_of(browser_of(bob).get(url))
    assert "alice approved it" in page
    assert "One more person has to." in page
    shown = client_of(bob).get(f"/api/v1{url}/approval").json()
    assert (shown["needs_two"], shown["first_by"]) == (True, "alice")
    assert browser_of(bob).post(f"{url}/approve", sent).status_code == 303
    run_jobs()
    assert "By alice and bob" in " ".join(pages.text_of(browser_of(dora).get(url)).split())


def test_if_only_one_person_is_left_the_hint_says_so(waiting, alice, bob, erin, dora):
    User.objects.filter(pk__in=[bob.pk, erin.pk]).update(is_active=False)

    assert deciding.whom_to_ask(waiting).startswith("Two people have to, and only alice can.")


@pytest.mark.django_db(transaction=True)
@pytest.mark.both
def test_of_two_first_approvals_at_once_one_is_a_conflict(waiting, alice, bob):
    """Two accounts of one person would otherwise both be the first."""

    def call(user):
        own = Release.objects.select_related("namespace").get(pk=waiting.pk)
        return approving.approve(release=own, viewer=Viewer(user), digest=waiting.digest)

    done = at_once(lambda: call(alice), lambda: call(bob))

    waiting.refresh_from_db()
    conflicts = [one for one in done if isinstance(one, Conflict)]
    assert done.count(True) + len(conflicts) == 1, "the later one is the second, or is told to look again"
    if conflicts:
        assert waiting.state == State.AWAITING_APPROVAL


def test_an_owner_does_not_switch_approval_off_alone_where_operators_require_two_people(
    acme: Namespace, dora: User, olga: User, settings: Any, browser_of: Any
) -> None:
    ask_for_approval(acme)
    settings.APPROVALS_NEED_TWO_PEOPLE = True
    with pytest.raises(Conflict, match="an owner cannot switch approval off alone"):
        namespaces.require_approval(namespace=acme, actor=in_browser(dora), requires_approval=False)
    sent = {"breaking_changes": "warn", "cooldown_hours": "0"}
    page = browser_of(dora).post("/namespaces/acme/rules", sent)
    assert (page.status_code, "Ask an operator to switch it off" in page.text) == (409, True)

    namespaces.require_approval(namespace=acme, actor=in_browser(olga), requires_approval=False)

    acme.refresh_from_db()
    assert not acme.requires_approval
