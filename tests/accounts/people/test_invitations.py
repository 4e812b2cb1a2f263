"""Invitations as rows: one use, one answer for every link that does not count, and no right outlives its giver."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Grant, Invitation, Role, User
from apps.accounts.people import invitations
from apps.lib.errors import Conflict, Invalid, NotFound
from tests.rows import for_each_row
from tests.threads import at_once

PASSWORD = "ripe plums in august"


@pytest.fixture
def invited(acme, dora):
    return invitations.invite(actor=Viewer(dora), note="Erin", namespace=acme, role=Role.PUBLISHER)


def accept(invitation: Invitation, username: str = "erin", password: str = PASSWORD) -> User:
    return invitations.accept(invitation=invitation, username=username, password=password)


def test_it_makes_the_account_with_its_role_once(invited, acme, settings, event_kinds):
    lasts = invited[0].expires_at - invited[0].created_at
    assert lasts == pytest.approx(settings.INVITATION_LIFETIME, abs=timedelta(seconds=5))

    user = accept(invitations.invitation_for_secret(invited[1]))

    assert user.check_password(PASSWORD)
    assert Grant.objects.get(user=user, namespace=acme).role == Role.PUBLISHER
    assert Invitation.objects.get().used_by == user
    assert event_kinds() == ["account:user:invited", "account:user:joined"]
    with pytest.raises(NotFound):
        invitations.invitation_for_secret(invited[1])
    with pytest.raises(NotFound):
        accept(invited[0], "frank")
    assert not User.objects.filter(username="frank").exists()


def test_every_link_that_does_not_count_reads_the_same(invited, dora):
    texts = set()
    for change in ({"used_at": timezone.now()}, {"revoked_at": timezone.now()}, {"expires_at": timezone.now()}):
        Invitation.objects.update(**{"used_at": None, "revoked_at": None, **change})
        for secret in (invited[1], "made-up", ""):
            with pytest.raises(NotFound) as refused:
                invitations.invitation_for_secret(secret)
            texts.add(f"{refused.value} {refused.value.hint}")

    assert len(texts) == 1


@for_each_row("change", [{"is_active": False}, {}])
def test_the_link_of_somebody_who_lost_the_role_brings_nobody_in(invited, dora, olga, acme, change):
    found = invitations.invitation_for_secret(invited[1])
    if change:
        User.objects.filter(pk=dora.pk).update(**change)
    else:
        Grant.objects.filter(user=dora).delete()

    with pytest.raises(NotFound):
        invitations.invitation_for_secret(invited[1])
    found = Invitation.objects.get(pk=found.pk)
    with pytest.raises(NotFound):
        accept(found)
    assert Invitation.objects.get().used_at is None


def test_one_from_the_command_line_needs_no_inviter(db):
    _, secret = invitations.invite(actor=NOBODY, note="the first")

    assert accept(invitations.invitation_for_secret(secret)).is_staff is False


@for_each_row(
    ("username", "password"),
    [
        *((name, PASSWORD) for name in ("", "-erin", "erin.", "er in", "\u0435rin", "erin@acme", "a" * 64, "../erin")),
        *(("erin.smith", word) for word in ("short", "password1234", "123456789012345", "erin.smith.erin")),
    ],
)
def test_it_refuses_names_that_could_be_mistaken_and_weak_passwords(invited, username, password):
    with pytest.raises(Invalid):
        accept(invited[0], username, password)


@pytest.mark.both
@for_each_row("taken", ["bob", "BOB", "Bob"])
def test_a_taken_name_leaves_the_link_usable(invited, bob, taken):
    User.objects.filter(pk=bob.pk).update(username=taken)
    with pytest.raises(Conflict):
        accept(invited[0], "bob")

    assert accept(invitations.invitation_for_secret(invited[1]), "Erin").username == "erin"


def test_a_withdrawn_link_is_dead_and_withdrawing_twice_records_once(invited, dora, event_kinds):
    for _ in range(2):
        invitations.revoke(invitation=invited[0], actor=Viewer(dora))

    with pytest.raises(NotFound):
        invitations.invitation_for_secret(invited[1])
    assert event_kinds().count("account:user:invitation-revoked") == 1


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_of_two_who_follow_it_at_once_one_gets_in(invited):
    found = [invitations.invitation_for_secret(invited[1]) for _ in range(2)]

    results = at_once(partial(accept, found[0], "erin"), partial(accept, found[1], "frank"))

    assert sorted(type(result).__name__ for result in results) == ["NotFound", "User"]
    assert User.objects.filter(username__in=["erin", "frank"]).count() == 1
