"""The verbs of teams: who belongs, who manages, and what a team's roles do to the rules of namespaces."""

from functools import partial

import pytest

from apps.accounts import namespaces
from apps.accounts.access.gate import NOBODY, Viewer, may_manage, role_on, team_for, visible_namespaces, visible_teams
from apps.accounts.identity import tokens
from apps.accounts.models import Grant, Membership, Role, Scope, Team
from apps.accounts.people import teams
from apps.audit.models import AuditEvent
from apps.lib.errors import Conflict, CredentialsRequired, Invalid, NotFound, RoleRequired
from tests.rows import for_each_row
from tests.threads import at_once


def membership(team, user) -> Membership:
    return Membership.objects.get(team=team, user=user)


def give(namespace, team, role=Role.READER):
    return namespaces.grant(namespace=namespace, grantee=team, role=role, actor=NOBODY)


def test_whoever_creates_it_manages_it(charlie, event_kinds):
    team = teams.create(name="cooks", description="We cook", actor=Viewer(charlie))

    assert list(team.memberships.values_list("user", "is_manager")) == [(charlie.pk, True)]
    assert event_kinds() == ["team:team:created"]


@pytest.mark.both
@for_each_row("name", ["", "Cooks", "a--b", "-a", "a_b", "new", "x" * 64, "café"])
def test_it_refuses_bad_names(charlie, name):
    with pytest.raises(Invalid):
        teams.create(name=name, actor=Viewer(charlie))


def test_a_taken_name_is_shown_only_to_those_who_see_it(cooks, charlie, bob):
    with pytest.raises(Conflict, match="already exists"):
        teams.create(name="cooks", actor=Viewer(charlie))
    with pytest.raises(Conflict, match="is taken"):
        teams.create(name="cooks", actor=Viewer(bob))


def test_creating_follows_the_rule_of_namespaces(charlie, olga, settings):
    with pytest.raises(CredentialsRequired):
        teams.create(name="cooks", actor=NOBODY)
    token, _ = tokens.issue(user=charlie, label="t", scope=Scope.PUBLISH, actor=NOBODY)
    with pytest.raises(RoleRequired, match="Creating a team needs a token with the scope manage"):
        teams.create(name="cooks", actor=Viewer(charlie, token))
    settings.NAMESPACE_CREATION = "staff"
    with pytest.raises(RoleRequired, match="Only operators create teams"):
        teams.create(name="cooks", actor=Viewer(charlie))
    assert teams.create(name="cooks", actor=Viewer(olga)).name == "cooks"


@pytest.mark.both
def test_the_highest_role_counts(acme, cooks, bob, charlie):
    give(acme, cooks, Role.PUBLISHER)
    teams.add(team=cooks, user=bob, actor=NOBODY)

    assert role_on(Viewer(charlie), acme) == Role.PUBLISHER
    assert role_on(Viewer(bob), acme) == Role.PUBLISHER, "reads it by himself, publishes by the team"
    Grant.objects.filter(user=bob).update(role=Role.OWNER)
    assert role_on(Viewer(bob), acme) == Role.OWNER


def test_it_costs_one_query(acme, cooks, charlie, django_assert_num_queries):
    give(acme, cooks)
    for asking in (Viewer(charlie), NOBODY):
        with django_assert_num_queries(1):
            role_on(asking, acme)
        with django_assert_num_queries(1):
            assert len(visible_namespaces(asking)) == bool(asking.user)
    assert role_on(NOBODY, acme) is None, "the grant of a team has no user, and neither has nobody"


def test_people_come_and_go(cooks, dora, charlie, bob, event_kinds):
    actor = Viewer(dora)
    for _ in range(2):
        teams.add(team=cooks, user=bob, actor=actor)
        teams.set_manager(membership=membership(cooks, bob), is_manager=True, actor=actor)
        teams.describe(team=cooks, description="Soups", actor=actor)
    his = membership(cooks, bob)
    for _ in range(2):
        teams.remove(membership=his, actor=actor)

    assert set(cooks.memberships.values_list("user", flat=True)) == {dora.pk, charlie.pk}
    assert event_kinds()[2:] == [
        "team:member:added",
        "team:member:changed",
        "team:team:changed",
        "team:member:removed",
    ]


def test_an_account_that_is_switched_off_joins_nothing(cooks, bob):
    bob.is_active = False
    with pytest.raises(Invalid, match="deactivated"):
        teams.add(team=cooks, user=bob, actor=NOBODY)


def test_the_last_active_manager_stays_but_for_staff(cooks, dora, bob, olga):
    hers = membership(cooks, dora)
    teams.set_manager(membership=teams.add(team=cooks, user=bob, actor=NOBODY), is_manager=True, actor=NOBODY)
    bob.is_active = False
    bob.save()
    with pytest.raises(Conflict, match="at least one manager"):
        teams.set_manager(membership=hers, is_manager=False, actor=Viewer(dora))
    with pytest.raises(Conflict, match="at least one manager"):
        teams.remove(membership=hers, actor=Viewer(dora))

    teams.set_manager(membership=hers, is_manager=False, actor=Viewer(olga))

    assert Team.objects.without_active_manager().get() == cooks


def test_a_team_is_an_owner_while_it_has_an_active_member(acme, cooks, dora, charlie):
    give(acme, cooks, Role.OWNER)
    hers = Grant.objects.get(user=dora)
    for user in (dora, charlie):
        user.is_active = False
        user.save()
    with pytest.raises(Conflict, match="at least one owner"):
        namespaces.withdraw(grant=hers, actor=NOBODY)

    charlie.is_active = True
    charlie.save()
    namespaces.withdraw(grant=hers, actor=NOBODY)

    with pytest.raises(Conflict, match="at least one owner"):
        namespaces.withdraw(grant=Grant.objects.get(team=cooks), actor=NOBODY)


def test_the_only_owner_is_not_deleted_nor_emptied(acme, cooks, dora, charlie, olga, event_kinds):
    give(acme, cooks, Role.OWNER)
    namespaces.withdraw(grant=Grant.objects.get(user=dora), actor=NOBODY)
    teams.remove(membership=membership(cooks, charlie), actor=Viewer(dora))

    with pytest.raises(Conflict, match="only owner of acme"):
        teams.remove(membership=membership(cooks, dora), actor=Viewer(olga))
    with pytest.raises(Conflict, match="only owner of acme"):
        teams.delete(team=cooks, actor=Viewer(olga))

    namespaces.grant(namespace=acme, grantee=olga, role=Role.OWNER, actor=NOBODY)
    teams.delete(team=cooks, actor=Viewer(dora))
    assert not Team.objects.exists()
    assert not Grant.objects.filter(team__isnull=False).exists()
    last = AuditEvent.objects.newest_first()[0]
    assert (last.kind, last.subject) == ("team:team:deleted", "team/cooks")
    assert last.detail == {"members": [dora.pk], "roles": {"acme": "owner"}}


def test_the_name_of_a_deleted_team_stays_taken_and_is_told_no_more_than_a_hidden_one(
    tofu, cooks, dora, charlie, bob, olga
):
    """Its service accounts and the audit log are known by it."""

    def put(person):
        answer = tofu(person).put("/api/v1/teams/cooks", {}, content_type="application/json")
        assert answer.status_code == 409
        return answer.json()["error"] | {"request_id": ""}

    hidden = put(bob)
    assert tofu(dora).delete("/api/v1/teams/cooks").status_code == 204

    assert put(bob) == hidden
    for person in (dora, charlie, olga):
        assert "or by a deleted team" in put(person)["message"]
    assert not Team.objects.filter(name="cooks").exists()


def test_verbs_on_a_deleted_team_say_so(acme, cooks, charlie):
    his = membership(cooks, charlie)
    Team.objects.filter(pk=cooks.pk).delete()
    for act in (
        lambda: teams.add(team=cooks, user=charlie, actor=NOBODY),
        lambda: teams.set_manager(membership=his, is_manager=True, actor=NOBODY),
        lambda: namespaces.grant(namespace=acme, grantee=cooks, role=Role.READER, actor=NOBODY),
    ):
        with pytest.raises(NotFound, match="deleted"):
            act()


# --- Who sees and who manages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "sees", "manages"),
    [("dora", True, True), ("charlie", True, False), ("bob", False, False), ("olga", True, True)],
)
def test_members_and_staff_see_it_and_managers_manage_it(request, cooks, who, sees, manages):
    asking = Viewer(request.getfixturevalue(who))

    assert visible_teams(asking).exists() == sees
    assert may_manage(asking, cooks) == manages
    for manage, allowed in ((False, sees), (True, manages)):
        if allowed:
            assert team_for(asking, "cooks", manage=manage) == cooks
        else:
            with pytest.raises(RoleRequired if sees else NotFound):
                team_for(asking, "cooks", manage=manage)


@pytest.mark.both
def test_owners_see_the_teams_that_hold_a_role_in_their_namespace(acme, pantry, charlie, bob, dora):
    team = teams.create(name="cooks", actor=Viewer(charlie))
    assert not visible_teams(Viewer(dora)).exists()
    give(acme, team)

    assert visible_teams(Viewer(dora)).get() == team
    assert not visible_teams(Viewer(bob)).exists(), "who only reads acme does not"


@for_each_row("limit", [{"only_name": "vpc/aws"}, {"namespaces": "acme"}])
def test_a_limited_token_sees_no_team(acme, cooks, dora, limit):
    limit = {"namespaces": [acme]} if "namespaces" in limit else limit
    token, _ = tokens.issue(user=dora, label="t", scope=Scope.MANAGE, actor=NOBODY, **limit)

    assert not visible_teams(Viewer(dora, token)).exists()


def test_hidden_and_unknown_read_the_same(cooks, bob):
    texts = set()
    for name in ("cooks", "nope"):
        with pytest.raises(NotFound) as refused:
            team_for(Viewer(bob), name, manage=True)
        texts.add(f"{refused.value} {refused.value.hint}".replace(name, "…"))
    assert len(texts) == 1


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_two_owning_teams_that_are_deleted_at_once_leave_one(acme, dora, charlie):
    """Each is the other's reason why it may go."""
    pair = [teams.create(name=name, actor=Viewer(charlie)) for name in ("cooks", "bakers")]
    for team in pair:
        give(acme, team, Role.OWNER)
    namespaces.withdraw(grant=Grant.objects.get(user=dora), actor=NOBODY)

    results = at_once(*(partial(teams.delete, team=team, actor=NOBODY) for team in pair))

    assert [type(result) for result in results].count(Conflict) == 1
    assert Grant.objects.active_owners().filter(namespace=acme).count() == 1


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_a_name_is_not_free_while_its_team_is_deleted(cooks, dora, bob):
    results = at_once(
        lambda: teams.delete(team=cooks, actor=Viewer(dora)),
        *(lambda: teams.create(name="cooks", actor=Viewer(bob)) for _ in range(3)),
    )

    assert [type(result) for result in results] == [list, Conflict, Conflict, Conflict]
    assert not Team.objects.filter(name="cooks").exists()
