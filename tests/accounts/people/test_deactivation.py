"""A deactivated account is out at once: tokens, browsers, and the links that it sent."""

import pytest
from django.contrib.sessions.models import Session

from apps.accounts import namespaces
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Grant, Invitation, Namespace, Role, Team
from apps.accounts.people import accounts, invitations, teams
from apps.lib.errors import NotFound


def switch(user, actor, *, on):
    accounts.change(
        user=user, actor=Viewer(actor), is_active=on, is_staff=user.is_staff, is_superuser=user.is_superuser
    )


def test_tokens_and_browsers_stop_with_the_next_request(acme, dora, olga, tofu, browser_of):
    client, browser = tofu(dora), browser_of(dora)
    assert client.get("/v1/modules/acme/vpc/aws/versions").status_code == 404
    assert browser.get("/namespaces/acme/members").status_code == 200

    switch(dora, olga, on=False)

    assert client.get("/v1/modules/acme/vpc/aws/versions").status_code == 401
    assert client.get("/api/v1/namespaces/acme").status_code == 401
    page = browser.get("/namespaces/acme/members")
    assert (page.status_code, page.url.split("?")[0]) == (302, "/account/login/")
    assert "dora" not in browser.get("/").text


def test_a_session_that_was_kept_elsewhere_is_worth_nothing(dora, browser_of):
    """The row alone lets no one in: an account that was deactivated by other means is out too."""
    browser = browser_of(dora)
    type(dora).objects.filter(pk=dora.pk).update(is_active=False)

    assert Session.objects.exists()
    assert browser.get("/tokens").status_code == 302


def test_nobody_wakes_up_signed_in(dora, bob, olga, browser_of):
    hers, his = browser_of(dora), browser_of(bob)
    switch(dora, olga, on=False)
    switch(dora, olga, on=True)

    assert hers.get("/tokens").status_code == 302
    assert his.get("/tokens").status_code == 200, "only hers"


def test_links_that_they_sent_are_revoked(acme, dora, olga, event_kinds):
    _, secret = invitations.invite(actor=Viewer(dora), note="Erin", namespace=acme, role=Role.READER)
    kept, _ = invitations.invite(actor=Viewer(olga), note="Finn", namespace=acme, role=Role.READER)

    switch(dora, olga, on=False)
    switch(dora, olga, on=True)

    with pytest.raises(NotFound):
        invitations.invitation_for_secret(secret)
    assert Invitation.objects.get(revoked_at=None) == kept
    assert event_kinds()[2:] == ["account:user:invitation-revoked", "account:user:changed", "account:user:changed"]


@pytest.mark.both
def test_it_knows_what_only_they_decide_about(acme, hall, dora, charlie, bob):
    mixed = teams.create(name="mixed", actor=Viewer(dora))
    teams.add(team=mixed, user=bob, actor=NOBODY)
    alone = teams.create(name="alone", actor=Viewer(dora))
    namespaces.grant(namespace=hall, grantee=alone, role=Role.OWNER, actor=NOBODY)
    Grant.objects.filter(user=bob).delete()

    behind = accounts.left_behind(dora)
    assert [namespace.name for namespace in behind.namespaces] == ["acme", "hall"]
    assert [team.name for team in behind.teams] == ["alone", "mixed"]
    assert str(behind) == "the only owner of acme, hall and the only manager of the team alone, the team mixed"

    namespaces.grant(namespace=acme, grantee=mixed, role=Role.OWNER, actor=NOBODY)
    teams.set_manager(membership=mixed.memberships.get(user=bob), is_manager=True, actor=NOBODY)
    behind = accounts.left_behind(dora)
    assert ([n.name for n in behind.namespaces], [t.name for t in behind.teams]) == (["hall"], ["alone"])
    assert not accounts.left_behind(charlie)


@pytest.mark.both
def test_what_is_left_without_anybody_can_be_found(acme, hall, dora, olga):
    """hall has no owner from the beginning; acme loses its only one."""
    team = teams.create(name="cooks", actor=Viewer(dora))
    assert list(Namespace.objects.without_active_owner()) == [hall]

    switch(dora, olga, on=False)

    assert list(Namespace.objects.without_active_owner().alphabetical()) == [acme, hall]
    assert Team.objects.without_active_manager().get() == team
