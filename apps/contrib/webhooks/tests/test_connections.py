"""Webhooks as connections: who answers for one, and what becomes of it when they leave."""

from typing import Any

import pytest

from apps.accounts import erasure, namespace_deletion, namespaces
from apps.accounts.access import connections
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import ConnectionChange, Role, Team
from apps.accounts.people import accounts, service_accounts, teams
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.webhooks import hooks
from apps.contrib.webhooks.tests.house import KIND
from apps.lib.errors import NotFound, RegistryError, RoleRequired
from apps.notify.models import Webhook
from registry_site.operations import doctor
from tests.accounts.access.test_connections_left import team_deleted
from tests.builders.connecting import (
    KINDS,
    connect_all,
    hand_over,
    left_behind,
    listed,
    suspended,
)
from tests.cast import person
from tests.rows import for_each_row
from tests.threads import at_once

ALL = sorted(KINDS)


@pytest.mark.both
def test_who_changed_a_connection_answers_for_it_as_well(acme, dora, eve, alice):
    """Eve turns Dora's webhook to her own server, and leaves."""
    rows = connect_all(acme, dora)
    hooks.change(hook=rows[KIND], actor=Viewer(eve), url="https://eve.example/hook")
    hooks.change(hook=rows[KIND], actor=Viewer(dora), events=["release.yanked"])

    hand_over(acme, eve, alice, actor=dora)

    assert sorted(suspended(acme)) == [KIND]
    assert connections.one_of(acme, KIND, rows[KIND].pk).names == ["dora", "eve"]
    connections.confirm(namespace=acme, kind=KIND, number=rows[KIND].pk, actor=Viewer(dora))
    assert connections.one_of(acme, KIND, rows[KIND].pk).names == ["dora"], "who confirms answers for all of it"


def test_who_only_switches_a_webhook_off_does_not_answer_for_it(acme, dora, eve):
    hook = connect_all(acme, dora)[KIND]
    hooks.change(hook=hook, actor=Viewer(eve), enabled=False)
    assert connections.one_of(acme, KIND, hook.pk).names == ["dora"]
    hooks.change(hook=hook, actor=Viewer(eve), enabled=True)
    assert connections.one_of(acme, KIND, hook.pk).names == ["dora", "eve"]


def test_what_an_account_that_was_deleted_connected_is_suspended_too(acme, dora, alice):
    hook = connect_all(acme, dora)[KIND]
    Webhook.objects.filter(pk=hook.pk).update(created_by=None)

    assert left_behind() == [KIND]
    namespaces.transfer(namespace=acme, to=alice, actor=Viewer(dora))
    assert suspended(acme) == [KIND]


@pytest.mark.both
def test_a_namespace_that_is_created_again_does_not_send_to_those_who_have_left(acme, dora, eve):
    hook, _ = hooks.create(
        namespace=acme, url="https://eve.example/hook", events=["release.published"], actor=Viewer(eve)
    )
    namespace_deletion.delete(namespace=acme, actor=Viewer(dora))
    erasure.erase(user=eve, actor=NOBODY)

    again = namespaces.create(name="acme", visibility="private", actor=Viewer(dora))

    hook.refresh_from_db()
    assert (again, hook.suspended_reason) == (acme, connections.CREATED_AGAIN)


@pytest.mark.both
def test_a_former_owner_whose_request_was_let_in_before_connects_and_confirms_nothing(acme, dora, alice):
    """The gate has answered before the transfer, and the verb runs after it."""
    rows = connect_all(acme, dora)
    late = Viewer(dora)
    hand_over(acme, dora, alice)
    acts: list[Any] = [
        lambda: connect_all(acme, dora, "late"),
        lambda: hooks.create(namespace=acme, actor=late, url="https://eve.example/", events=["release.published"]),
        lambda: hooks.change(hook=rows[KIND], actor=late, url="https://eve.example/"),
        lambda: hooks.rotate(hook=rows[KIND], actor=late),
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
        return hooks.create(
            namespace=acme, actor=Viewer(dora), url="https://eve.example/", events=["release.published"]
        )

    results = at_once(connect, lambda: hand_over(acme, dora, alice))

    was_refused = isinstance(results[0], RegistryError)
    assert suspended(acme) == ([] if was_refused else [KIND])
    assert Webhook.objects.count() == (0 if was_refused else 1)


def test_a_service_account_confirms_nothing(acme, dora, alice):
    team = Team.objects.create(name="cooks")
    namespaces.grant(namespace=acme, grantee=team, role=Role.OWNER, actor=Viewer(dora))
    teams.add(team=team, user=alice, actor=NOBODY)
    bot = service_accounts.create(team=team, name="ci", actor=NOBODY)
    hook = connect_all(acme, dora)[KIND]
    hand_over(acme, dora, alice)

    with pytest.raises(RoleRequired, match="service account"):
        connections.confirm(namespace=acme, kind=KIND, number=hook.pk, actor=Viewer(bot))
    assert KIND in suspended(acme)


def test_confirming_twice_changes_nothing_and_what_is_not_there_is_not_found(acme, pantry, dora, eve):
    hook = connect_all(acme, dora)[KIND]
    for _ in range(2):
        connections.confirm(namespace=acme, kind=KIND, number=hook.pk, actor=Viewer(eve))

    assert AuditEvent.objects.filter(kind=Kind.CONNECTION_CONFIRMED).count() == 1
    assert connections.one_of(acme, KIND, hook.pk).names == ["eve"]
    for kind, namespace in ((KIND, acme), ("key", acme), (KIND, pantry)):
        with pytest.raises(NotFound):
            connections.one_of(namespace, kind, hook.pk + 1 if namespace == acme else hook.pk)


def account_deleted(bot, **_):
    service_accounts.delete(account=bot, actor=NOBODY)


@for_each_row("lose", [account_deleted, team_deleted])
def test_the_webhook_of_a_service_account_is_listed_when_that_or_its_team_is_deleted(lose, acme, dora, cooks):
    bot = service_accounts.create(team=cooks, name="ci", actor=NOBODY)
    hooks.create(namespace=acme, url="https://a.example/", events=["release.published"], actor=Viewer(bot))

    lose(bot=bot, cooks=cooks)

    assert listed() == [[KIND]]


def test_an_erased_person_who_changed_something_still_counts(acme, dora, eve):
    hook = connect_all(acme, dora)[KIND]
    hooks.change(hook=hook, actor=Viewer(eve), url="https://eve.example/hook")

    erasure.erase(user=eve, actor=NOBODY)

    assert ConnectionChange.objects.get().user_id == eve.pk
    assert left_behind() == [KIND]


def found():
    finding, *more = doctor.left_behind()
    assert not more
    return finding.state, finding.found


def test_a_webhook_of_the_site_needs_an_operator(db, olga):
    erin = person("erin", is_staff=True, is_superuser=True)
    hook, _ = hooks.create(namespace=None, url="https://a.example/", events=["release.published"], actor=Viewer(erin))
    assert found()[0] == "ok"

    accounts.change(user=erin, actor=Viewer(olga), is_active=True, is_staff=False, is_superuser=False)

    assert found() == ("warn", "1 of people without the role owner: webhook to a.example of the registry (erin)")
    hooks.rotate(hook=hook, actor=Viewer(olga))
    assert found()[0] == "ok", "who gives it another secret answers for it"
