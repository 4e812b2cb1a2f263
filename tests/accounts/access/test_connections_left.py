"""Connections that owners leave behind when they lose the role, each way that there is: they are listed once, and still
work.
"""

import pytest

from apps.accounts import erasure, namespaces
from apps.accounts.access import connections
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Grant, GroupMapping, Membership, Role, Scope, Team
from apps.accounts.people import accounts, group_roles, invitations, service_accounts, teams
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.errors import NotFound
from apps.signing.models import Custody, SigningKey
from tests.builders.connecting import (
    KINDS,
    connect_all,
    hand_over,
    left_behind,
    listed,
    own,
    suspended,
)
from tests.cast import person
from tests.rows import for_each_row

ALL = sorted(KINDS)


def withdrawn(acme, eve, **_):
    namespaces.withdraw(grant=own(acme, eve), actor=NOBODY)


def lowered(acme, eve, **_):
    namespaces.grant(namespace=acme, grantee=eve, role=Role.PUBLISHER, actor=NOBODY)


def deactivated(eve, olga, **_):
    accounts.set_active(user=eve, actor=Viewer(olga), is_active=False)


def erased(eve, **_):
    erasure.erase(user=eve, actor=NOBODY)


@pytest.mark.both
@for_each_row("lose", [withdrawn, lowered, deactivated, erased])
def test_what_a_person_leaves_behind_is_listed_once_and_still_works(lose, acme, dora, eve, olga):
    connect_all(acme, eve)
    connect_all(acme, dora, "dns")

    lose(acme=acme, eve=eve, olga=olga)

    assert listed() == [ALL]
    assert sorted(left_behind()) == ALL
    assert suspended(acme) == []


@pytest.fixture
def cooks(acme, dora, eve):
    """Owns acme, and Eve only by it."""
    team = Team.objects.create(name="cooks")
    namespaces.grant(namespace=acme, grantee=team, role=Role.OWNER, actor=Viewer(dora))
    teams.add(team=team, user=eve, actor=NOBODY)
    own(acme, eve).delete()
    return team


def left(cooks, eve, **_):
    teams.add(team=cooks, user=person("frank"), actor=NOBODY)
    teams.remove(membership=Membership.objects.get(team=cooks, user=eve), actor=NOBODY)


def signed_on_without(cooks, eve, **_):
    issuer = "https://idp.acme.example"
    Membership.objects.filter(team=cooks).delete()
    GroupMapping.objects.create(issuer=issuer, group="cooks", team=cooks)
    group_roles.apply(user=eve, issuer=issuer, groups=["cooks"])
    group_roles.apply(user=eve, issuer=issuer, groups=[])


def team_deleted(cooks, **_):
    teams.delete(team=cooks, actor=NOBODY)


def team_withdrawn(acme, cooks, **_):
    namespaces.withdraw(grant=Grant.objects.get(namespace=acme, team=cooks), actor=NOBODY)


def team_lowered(acme, cooks, **_):
    namespaces.grant(namespace=acme, grantee=cooks, role=Role.READER, actor=NOBODY)


@pytest.mark.both
@for_each_row("lose", [left, signed_on_without, team_deleted, team_withdrawn, team_lowered, deactivated, erased])
def test_what_a_member_of_a_team_of_owners_leaves_behind_is_listed_once(lose, acme, dora, eve, cooks, olga):
    connect_all(acme, eve)
    connect_all(acme, dora, "dns")

    lose(acme=acme, cooks=cooks, eve=eve, olga=olga)

    assert listed() == [ALL]
    assert sorted(left_behind()) == ALL


def test_what_an_operator_connected_is_listed_once_they_are_none(acme, dora, olga):
    erin = person("erin", is_staff=True, is_superuser=True)
    connect_all(acme, erin)

    accounts.change(user=erin, actor=Viewer(olga), is_active=True, is_staff=False, is_superuser=False)

    assert listed() == [ALL]


def test_who_keeps_the_role_another_way_leaves_nothing_behind(acme, dora, eve, cooks):
    connect_all(acme, eve)
    namespaces.grant(namespace=acme, grantee=eve, role=Role.OWNER, actor=Viewer(dora))

    teams.delete(team=cooks, actor=NOBODY)

    assert listed() == []
    assert left_behind() == []


def test_a_role_in_another_namespace_of_the_same_team_does_not_count(acme, pantry, dora, eve, cooks):
    """The team goes on owning pantry."""
    Grant.objects.create(namespace=pantry, team=cooks, role=Role.OWNER)
    connect_all(acme, eve)
    connect_all(pantry, eve, "dns")

    namespaces.grant(namespace=acme, grantee=cooks, role=Role.READER, actor=Viewer(dora))

    assert {one.row.namespace for one in connections.left_behind()} == {acme}


def test_a_preview_says_what_a_withdrawal_would_leave(acme, dora, eve, alice):
    connect_all(acme, eve)

    assert {one.kind for one in connections.would_leave(own(acme, eve))} == set(KINDS)
    assert connections.would_leave(own(acme, dora)) == connections.would_leave(own(acme, alice)) == []


def test_an_event_lists_many_and_says_how_many_more(acme, dora, eve, monkeypatch):
    monkeypatch.setattr(connections, "MAX_LISTED", 1)
    connect_all(acme, eve)

    namespaces.withdraw(grant=own(acme, eve), actor=Viewer(dora))

    detail = AuditEvent.objects.get(kind=Kind.CONNECTIONS_LEFT_BEHIND).detail
    assert (len(detail["connections"]), detail["not_listed"], detail["left"]) == (1, len(KINDS) - 1, [eve.pk])


# --- What else the former owner knows ---------------------------------------------------------------------------------


def test_keys_and_tokens_of_machines_that_others_know_are_listed(acme, dora, eve, alice):
    """Eve added a key, and made a token of a machine whose team she managed. Dora's own are no news."""
    team = Team.objects.create(name="cooks")
    namespaces.grant(namespace=acme, grantee=team, role=Role.PUBLISHER, actor=Viewer(dora))
    bot = service_accounts.create(team=team, name="ci", actor=NOBODY)
    teams.set_manager(membership=teams.add(team=team, user=eve, actor=NOBODY), is_manager=True, actor=NOBODY)
    for maker, digit in ((eve, "E"), (dora, "D")):
        tokens.issue(user=bot, label=f"of {maker}", scope=Scope.PUBLISH, actor=Viewer(maker))
        digits = {"fingerprint": digit * 40, "key_id": digit * 16}
        SigningKey.objects.create(
            namespace=acme, custody=Custody.PUBLISHER, armor="-", algorithm="ed25519", added_by=maker, **digits
        )
    assert connections.secrets_of_others(acme) == []

    namespaces.withdraw(grant=own(acme, eve), actor=Viewer(dora))
    assert [secret.noun for secret in connections.secrets_of_others(acme)] == ["signing key"]
    Membership.objects.filter(user=eve).update(is_manager=False)

    found = sorted(connections.secrets_of_others(acme), key=lambda secret: secret.noun)
    assert [(secret.noun, secret.person) for secret in found] == [("signing key", eve), ("token", eve)]
    assert "EEEE" in str(found[0])
    assert "(of eve) of cooks.ci[bot]" in str(found[1])


@pytest.mark.both
def test_an_invitation_and_a_token_of_the_former_owner_open_nothing(acme, dora, alice, tofu):
    _, secret = invitations.invite(actor=Viewer(dora), note="me again", namespace=acme, role=Role.OWNER)
    client = tofu(dora)
    assert client.get("/api/v1/namespaces/acme").status_code == 200

    hand_over(acme, dora, alice)

    assert client.get("/api/v1/namespaces/acme").status_code == 404
    with pytest.raises(NotFound):
        invitations.invitation_for_secret(secret)
