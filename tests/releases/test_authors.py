"""The people who are no second person for a release: its author, by whatever account. Alice publishes, Bob
approves.
"""

from datetime import timedelta

import pytest
from allauth.socialaccount.models import SocialAccount

from apps.accounts.access.gate import Viewer
from apps.accounts.models import ApiToken, Membership, User
from apps.accounts.people import sign_on
from apps.audit.models import AuditEvent
from apps.notify.mail import preferences
from apps.releases.models import Release, State
from apps.releases.publishing import approving, deciding
from tests.builders.approving import ask_for_approval, client_of, decide, machine_of, publisher, team_of
from tests.builders.ci_runs import add_rule

pytestmark = pytest.mark.django_db
ISSUER = "https://login.example.com"


@pytest.fixture
def space(acme, alice, bob):
    publisher(bob, acme)
    ask_for_approval(acme)
    return acme


def require_refusal(client, release: Release, why: str) -> str:
    """Refused, in the audit, and not in the list of the caller; returns what they read."""
    answer = decide(client, release, "approve")

    assert answer.status_code == 403, answer.content
    event = AuditEvent.objects.filter(kind="namespace:release:approval-refused").latest("pk")
    assert (event.detail["why"], event.detail["release"]) == (why, release.pk)
    assert decide(client, release, "decline", reason="No").status_code == 403
    release.refresh_from_db()
    assert release.state == State.AWAITING_APPROVAL
    assert client.get("/api/v1/approvals").json()["releases"] == []
    assert client.get(f"/api/v1/releases/{release.public_id}/approval").json()["refusal"]
    return str(answer.json()["error"]["message"])


def may_decide(user: User, release: Release) -> bool:
    listed = approving.waiting_for(Viewer(user)).filter(pk=release.pk).exists()
    assert listed == (deciding.refusal_of(release, Viewer(user)) is None)
    return listed


def test_not_the_author(space, alice, published):
    assert "You published it yourself" in require_refusal(client_of(alice), published(), "author")


def test_not_a_service_account_whose_tokens_the_author_can_make(space, alice, published):
    machine = machine_of(team_of(alice, space), alice)

    said = require_refusal(client_of(machine), published(), "service-account-of-the-author")

    assert "Its author can make tokens of this service account" in said


def test_not_a_service_account_of_which_the_author_made_a_token_as_a_manager(space, alice, bob, published):
    team = team_of(bob, space)
    machine = machine_of(team, bob)
    client = client_of(machine, maker=alice)

    require_refusal(client, published(), "service-account-of-the-author")

    token = ApiToken.objects.get(made_by=alice)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=token.created_at - timedelta(days=1))
    assert may_decide(machine, published(version="1.3.0")), "a token of an ended life ties nobody"


def test_a_service_account_of_other_people_may(space, alice, bob, published):
    machine = machine_of(team_of(bob, space), bob)
    assert machine.service_of is not None
    Membership.objects.create(team=machine.service_of, user=alice)  # a member who manages nothing

    release = published()

    assert may_decide(machine, release)
    assert decide(client_of(machine, maker=bob), release, "approve").status_code == 202


def test_not_who_can_make_tokens_of_the_service_account_that_published(space, alice, bob, published):
    machine = machine_of(team_of(alice, space), alice)
    release = published(user=machine)

    said = require_refusal(client_of(alice), release, "author-is-own-service-account")

    assert "service account whose tokens you can create" in said
    assert may_decide(bob, release)


@pytest.mark.both
def test_not_another_service_account_of_the_same_people(space, alice, bob, published):
    team = team_of(alice, space)
    release = published(user=machine_of(team, alice))

    require_refusal(client_of(machine_of(team, alice, "second")), release, "service-account-of-the-same-people")

    other = machine_of(team_of(alice, space, "bakers"), alice)
    assert not may_decide(other, release)
    assert may_decide(machine_of(team_of(bob, space, "brewers"), bob), release)


def test_not_an_operator_for_what_a_service_account_published(space, bob, olga, published):
    """They can make tokens of all of them. For a person's release an operator is a second person."""
    publisher(olga, space)
    machine = machine_of(team_of(bob, space), bob)
    release = published(user=machine)

    require_refusal(client_of(olga), release, "author-is-own-service-account")
    assert not may_decide(machine, published(version="1.3.0", user=olga))
    assert may_decide(olga, published(version="1.4.0"))


@pytest.mark.both
def test_not_a_second_account_with_the_same_mail_address(space, alice, bob, published):
    User.objects.filter(pk=alice.pk).update(email="Alice@Example.com")
    User.objects.filter(pk=bob.pk).update(email="alice@example.COM")

    said = require_refusal(client_of(bob), published(), "same-person")

    assert "another account of yours" in said


def test_not_after_the_address_was_removed_from_the_first_account(space, alice, bob, published):
    for user in (alice, bob):
        User.objects.filter(pk=user.pk).update(email="alice@example.com")
        preferences.ask_for_address(user=user, address="")

    assert not may_decide(bob, published())


def test_not_a_second_account_to_which_the_identity_moved(space, alice, bob, published):
    row = SocialAccount.objects.create(user=alice, provider=ISSUER, uid="subject-1")
    sign_on.disconnect(user=alice, account_id=row.pk, actor=Viewer(alice))
    release = published()
    assert may_decide(bob, release)

    SocialAccount.objects.create(user=bob, provider=ISSUER, uid="subject-1")

    require_refusal(client_of(bob), release, "same-person")
    assert not may_decide(machine_of(team_of(bob, space), bob), release), "nor does a service account of his"


def test_the_same_subject_of_another_issuer_is_another_person(space, alice, bob, published):
    SocialAccount.objects.create(user=alice, provider=ISSUER, uid="subject-1")
    SocialAccount.objects.create(user=bob, provider=f"{ISSUER}/other", uid="subject-1")

    assert may_decide(bob, published())


def test_not_who_sent_the_bytes_of_another_module_from_the_same_upload(space, alice, bob, published):
    """Alice's upload, of which Bob published another folder."""
    first = published()
    second = published(address="acme/dns/aws", user=bob)
    Release.objects.filter(pk=second.pk).update(staging_key=first.staging_key)
    second.refresh_from_db()

    assert not may_decide(alice, second)


def test_no_run_of_a_trusted_publisher_decides(space, alice, dora, published):
    rule = add_rule(space, dora)
    client = client_of(rule.user, maker=dora)
    release = published()

    answer = decide(client, release, "approve")

    assert answer.status_code == 403
    assert "trusted publisher approves nothing" in answer.json()["error"]["message"]
    assert client.get("/api/v1/approvals").json()["releases"] == []
    assert may_decide(dora, release)


@pytest.mark.both
def test_who_is_asked_is_who_could_decide(space, alice, bob, dora, charlie, published):
    machine_of(team_of(bob, space), bob)
    User.objects.filter(pk__in=[alice.pk, dora.pk]).update(email="same@example.com")

    assert deciding.approvers_of(published()) == {bob}
