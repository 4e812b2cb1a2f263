"""Connections: who answers for them, and what becomes of those whose owner is none any longer: attack A2 of issue
47.
"""

import pytest

from apps.accounts import namespaces
from apps.accounts.access import connections
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Role, Team
from apps.accounts.people import accounts, teams
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from tests.builders.connecting import (
    KINDS,
    connect_all,
    hand_over,
    left_behind,
    listed,
    suspended,
)
from tests.rows import for_each_row

ALL = sorted(KINDS)


# --- A transfer -------------------------------------------------------------------------------------------------------


@pytest.mark.both
@for_each_row("keep_publisher", [False, True])
def test_a_transfer_suspends_what_its_giver_connected_until_the_new_owner_confirms_each(
    keep_publisher, acme, dora, alice
):
    rows = connect_all(acme, dora)
    assert left_behind() == []

    hand_over(acme, dora, alice, keep_publisher=keep_publisher)

    assert sorted(suspended(acme)) == ALL
    assert listed(Kind.CONNECTIONS_SUSPENDED) == [ALL]
    assert {one.row.suspended_reason for one in connections.of(acme)} == {connections.TRANSFERRED}
    for number, (kind, row) in enumerate(rows.items(), start=1):
        found = connections.confirm(namespace=acme, kind=kind, number=row.pk, actor=Viewer(alice))
        assert (found.is_suspended, found.is_left_behind, found.names) == (False, False, ["alice"])
        assert len(suspended(acme)) == len(KINDS) - number
    assert left_behind() == []
    assert AuditEvent.objects.filter(kind=Kind.CONNECTION_CONFIRMED).count() == len(KINDS)


@pytest.mark.both
def test_what_an_owner_who_stays_has_connected_goes_on(acme, dora, eve, alice):
    connect_all(acme, dora)
    connect_all(acme, eve, "dns")

    hand_over(acme, eve, alice, actor=dora)

    assert sorted(suspended(acme)) == ALL
    assert {one.names[0] for one in connections.waiting_in(acme)} == {"eve"}


@pytest.mark.both
def test_staff_who_hand_on_a_namespace_that_was_left_behind_suspend_it_all(acme, dora, alice, olga):
    connect_all(acme, dora)
    accounts.set_active(user=dora, actor=Viewer(olga), is_active=False)

    namespaces.transfer(namespace=acme, to=alice, actor=Viewer(olga))

    assert sorted(suspended(acme)) == ALL


@pytest.mark.both
def test_a_team_that_gives_a_namespace_up_leaves_what_its_members_connected(acme, dora, alice, bob):
    team = Team.objects.create(name="cooks")
    teams.add(team=team, user=bob, actor=NOBODY)
    grant = namespaces.grant(namespace=acme, grantee=team, role=Role.OWNER, actor=Viewer(dora))
    connect_all(acme, bob)
    connect_all(acme, dora, "dns")

    namespaces.transfer(namespace=acme, to=alice, giver=grant, actor=Viewer(dora))

    assert {one.names[0] for one in connections.waiting_in(acme)} == {"bob"}
    assert sorted(suspended(acme)) == ALL


# --- Races with a transfer --------------------------------------------------------------------------------------------


def test_the_list_of_a_namespace_takes_the_same_queries_for_any_number(acme, dora, django_assert_num_queries):
    connect_all(acme, dora)
    for name in ("a", "b", "c"):
        connect_all(acme, dora, name)
    with django_assert_num_queries(3 + 2 * len(KINDS)):
        assert len(connections.of(acme)) == 4 * len(KINDS)
