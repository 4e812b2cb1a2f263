"""Connections: who answers for them, and what becomes of those whose owner is none any longer: attack A2 of issue
47.
"""

from typing import Any

import pytest

from apps.accounts import erasure, namespace_deletion, namespaces
from apps.accounts.access import connections
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Role, Team
from apps.accounts.people import accounts, service_accounts, teams
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.errors import NotFound, RegistryError, RoleRequired
from apps.notify import webhooks
from apps.notify.models import Webhook
from tests.builders.connecting import (
    KINDS,
    WEBHOOK,
    connect_all,
    hand_over,
    left_behind,
    listed,
    suspended,
)
from tests.rows import for_each_row
from tests.threads import at_once

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
def test_who_changed_a_connection_answers_for_it_as_well(acme, dora, eve, alice):
    """Eve turns Dora's webhook to her own server, and leaves."""
    rows = connect_all(acme, dora)
    webhooks.change(hook=rows[WEBHOOK], actor=Viewer(eve), url="https://eve.example/hook")
    webhooks.change(hook=rows[WEBHOOK], actor=Viewer(dora), events=["release.yanked"])

    hand_over(acme, eve, alice, actor=dora)

    assert sorted(suspended(acme)) == [WEBHOOK]
    assert connections.one_of(acme, WEBHOOK, rows[WEBHOOK].pk).names == ["dora", "eve"]
    connections.confirm(namespace=acme, kind=WEBHOOK, number=rows[WEBHOOK].pk, actor=Viewer(dora))
    assert connections.one_of(acme, WEBHOOK, rows[WEBHOOK].pk).names == ["dora"], "who confirms answers for all of it"


def test_who_only_switches_a_webhook_off_does_not_answer_for_it(acme, dora, eve):
    hook = connect_all(acme, dora)[WEBHOOK]
    webhooks.change(hook=hook, actor=Viewer(eve), enabled=False)
    assert connections.one_of(acme, WEBHOOK, hook.pk).names == ["dora"]
    webhooks.change(hook=hook, actor=Viewer(eve), enabled=True)
    assert connections.one_of(acme, WEBHOOK, hook.pk).names == ["dora", "eve"]


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


def test_what_an_account_that_was_deleted_connected_is_suspended_too(acme, dora, alice):
    hook = connect_all(acme, dora)[WEBHOOK]
    Webhook.objects.filter(pk=hook.pk).update(created_by=None)

    assert left_behind() == [WEBHOOK]
    namespaces.transfer(namespace=acme, to=alice, actor=Viewer(dora))
    assert suspended(acme) == [WEBHOOK]


@pytest.mark.both
def test_a_namespace_that_is_created_again_does_not_send_to_those_who_have_left(acme, dora, eve):
    hook, _ = webhooks.create(
        namespace=acme, url="https://eve.example/hook", events=["release.published"], actor=Viewer(eve)
    )
    namespace_deletion.delete(namespace=acme, actor=Viewer(dora))
    erasure.erase(user=eve, actor=NOBODY)

    again = namespaces.create(name="acme", visibility="private", actor=Viewer(dora))

    hook.refresh_from_db()
    assert (again, hook.suspended_reason) == (acme, connections.CREATED_AGAIN)


# --- Races with a transfer --------------------------------------------------------------------------------------------


@pytest.mark.both
def test_a_former_owner_whose_request_was_let_in_before_connects_and_confirms_nothing(acme, dora, alice):
    """The gate has answered before the transfer, and the verb runs after it."""
    rows = connect_all(acme, dora)
    late = Viewer(dora)
    hand_over(acme, dora, alice)
    acts: list[Any] = [
        lambda: connect_all(acme, dora, "late"),
        lambda: webhooks.create(namespace=acme, actor=late, url="https://eve.example/", events=["release.published"]),
        lambda: webhooks.change(hook=rows[WEBHOOK], actor=late, url="https://eve.example/"),
        lambda: webhooks.rotate(hook=rows[WEBHOOK], actor=late),
        *(
            lambda kind=kind, row=row: connections.confirm(namespace=acme, kind=kind, number=row.pk, actor=late)
            for kind, row in rows.items()
        ),
    ]
    for act in acts:
        with pytest.raises((RoleRequired, NotFound)):
            act()
    assert sorted(suspended(acme)) == ALL
    assert len(connections.of(acme)) == len(KINDS)


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_what_is_connected_during_a_transfer_is_refused_or_suspended(acme, dora, alice):
    def connect():
        return webhooks.create(
            namespace=acme, actor=Viewer(dora), url="https://eve.example/", events=["release.published"]
        )

    results = at_once(connect, lambda: hand_over(acme, dora, alice))

    was_refused = isinstance(results[0], RegistryError)
    assert suspended(acme) == ([] if was_refused else [WEBHOOK])
    assert Webhook.objects.count() == (0 if was_refused else 1)


def test_a_service_account_confirms_nothing(acme, dora, alice):
    team = Team.objects.create(name="cooks")
    namespaces.grant(namespace=acme, grantee=team, role=Role.OWNER, actor=Viewer(dora))
    teams.add(team=team, user=alice, actor=NOBODY)
    bot = service_accounts.create(team=team, name="ci", actor=NOBODY)
    hook = connect_all(acme, dora)[WEBHOOK]
    hand_over(acme, dora, alice)

    with pytest.raises(RoleRequired, match="service account"):
        connections.confirm(namespace=acme, kind=WEBHOOK, number=hook.pk, actor=Viewer(bot))
    assert WEBHOOK in suspended(acme)


def test_confirming_twice_changes_nothing_and_what_is_not_there_is_not_found(acme, pantry, dora, eve):
    hook = connect_all(acme, dora)[WEBHOOK]
    for _ in range(2):
        connections.confirm(namespace=acme, kind=WEBHOOK, number=hook.pk, actor=Viewer(eve))

    assert AuditEvent.objects.filter(kind=Kind.CONNECTION_CONFIRMED).count() == 1
    assert connections.one_of(acme, WEBHOOK, hook.pk).names == ["eve"]
    for kind, namespace in ((WEBHOOK, acme), ("key", acme), (WEBHOOK, pantry)):
        with pytest.raises(NotFound):
            connections.one_of(namespace, kind, hook.pk + 1 if namespace == acme else hook.pk)


def test_the_list_of_a_namespace_takes_the_same_queries_for_any_number(acme, dora, django_assert_num_queries):
    connect_all(acme, dora)
    for name in ("a", "b", "c"):
        connect_all(acme, dora, name)
    with django_assert_num_queries(3 + 2 * len(KINDS)):
        assert len(connections.of(acme)) == 4 * len(KINDS)
