"""Operators' pages of teams, of grants to them, of quotas, and of what leavers have left."""

import pytest
from django.urls import reverse

from apps.accounts import namespaces
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Grant, Membership, Role, Team
from apps.accounts.people import service_accounts, teams
from apps.audit.models import AuditEvent
from apps.lib.errors import Invalid
from tests.rows import for_each_row


def kinds():
    events = AuditEvent.objects.exclude(kind="account:user:signed-in").order_by("pk")
    return list(events.values_list("kind", flat=True))


def lines(prefix, *rows, initial=0):
    counts = {f"{prefix}-TOTAL_FORMS": len(rows), f"{prefix}-INITIAL_FORMS": initial}
    return counts | {f"{prefix}-{n}-{field}": value for n, row in enumerate(rows) for field, value in row.items()}


def test_a_team_is_made_by_its_verb(operator_client, olga):
    operator_client.post(reverse("admin:accounts_team_add"), {"name": "cooks", "description": "They cook"})

    assert Membership.objects.get(team__name="cooks", is_manager=True).user == olga
    assert kinds() == ["team:team:created"]
    page = operator_client.post(reverse("admin:accounts_team_add"), {"name": "Co_oks", "description": ""})
    assert page.context["adminform"].form.errors["name"]


def test_members_change_by_the_verbs(operator_client, cooks, dora, charlie, bob):
    his, hers = Membership.objects.get(user=charlie), Membership.objects.get(user=dora)
    rows = [
        {"id": hers.pk, "team": cooks.pk, "user": dora.pk, "is_manager": "on"},
        {"id": his.pk, "team": cooks.pk, "user": charlie.pk, "DELETE": "on"},
        {"team": cooks.pk, "user": bob.pk, "is_manager": "on"},
    ]
    form = {"description": "They cook", **lines("memberships", *rows, initial=2), **lines("grants")}
    before = len(kinds())

    answer = operator_client.post(reverse("admin:accounts_team_change", args=[cooks.pk]), form)

    assert answer.status_code == 302, answer.context["errors"]
    assert set(cooks.memberships.values_list("user__username", "is_manager")) == {("dora", True), ("bob", True)}
    assert kinds()[before:] == [
        "team:team:changed",
        "team:member:added",
        "team:member:changed",
        "team:member:removed",
    ]


def test_the_only_owner_is_not_deleted_and_the_page_says_why(operator_client, acme, cooks):
    namespaces.grant(namespace=acme, grantee=cooks, role=Role.OWNER, actor=NOBODY)
    Grant.objects.filter(user__isnull=False).delete()

    page = operator_client.post(reverse("admin:accounts_team_delete", args=[cooks.pk]), {"post": "yes"}, follow=True)

    assert "only owner of acme" in page.text
    assert Team.objects.exists()


@for_each_row(("user", "team", "made"), [(0, 1, True), (1, 0, True), (1, 1, False), (0, 0, False)])
def test_a_grant_goes_to_a_person_or_to_a_team(operator_client, acme, cooks, charlie, user, team, made):
    form = {"namespace": acme.pk, "user": charlie.pk if user else "", "team": cooks.pk if team else "", "role": 1}
    page = operator_client.post(reverse("admin:accounts_grant_add"), form)

    assert (page.status_code == 302) == made
    assert Grant.objects.exclude(role=Role.OWNER).exists() == made


def test_a_service_account_has_the_roles_of_its_team_alone(operator_client, acme, cooks, olga):
    machine = service_accounts.create(team=cooks, name="ci", actor=Viewer(olga))
    other = teams.create(name="bakers", actor=Viewer(olga))
    hers = other.memberships.get()
    form = {"namespace": acme.pk, "user": machine.pk, "team": "", "role": 3}
    rows = [
        {"id": hers.pk, "team": other.pk, "user": olga.pk, "is_manager": "on"},
        {"team": other.pk, "user": machine.pk},
    ]
    joined = {"description": "", **lines("memberships", *rows, initial=1), **lines("grants")}

    for page in (
        operator_client.post(reverse("admin:accounts_grant_add"), form),
        operator_client.post(reverse("admin:accounts_team_change", args=[other.pk]), joined),
    ):
        assert page.status_code == 200
        assert "which has only its team" in page.text
    for verb in (
        lambda: namespaces.grant(namespace=acme, grantee=machine, role=Role.READER, actor=Viewer(olga)),
        lambda: teams.add(team=other, user=machine, actor=Viewer(olga)),
    ):
        with pytest.raises(Invalid, match="service account"):
            verb()
    assert not Grant.objects.filter(user=machine).exists()
    assert list(machine.memberships.values_list("team__name", flat=True)) == ["cooks"]


def test_quotas_are_set_by_their_verb(operator_client, acme):
    where = reverse("admin:accounts_namespace_change", args=[acme.pk])
    usual = {"visibility": "private", "breaking_changes": "warn", "description": ""}
    form = usual | {"quota_bytes": "1000", "quota_versions": ""} | lines("grants")
    operator_client.post(where, form)
    operator_client.post(where, form)

    acme.refresh_from_db()
    assert (acme.quota_bytes, acme.quota_versions) == (1000, None)
    assert kinds() == ["namespace:quota:changed"]
    refused = operator_client.post(where, {**form, "quota_bytes": "-1"}, follow=True)
    assert "from 0 (no limit)" in refused.text


def test_who_leaves_is_out_and_the_page_says_what_is_left(operator_client, acme, hall, cooks, dora):
    page = operator_client.post(reverse("admin:accounts_user_change", args=[dora.pk]), {}, follow=True)
    assert "dora was the only owner of acme and the only manager of the team cooks" in page.text

    for model, name in (("namespace", "acme"), ("team", "cooks")):
        found = operator_client.get(reverse(f"admin:accounts_{model}_changelist", query={"leaderless": "yes"}))
        assert name in [row.name for row in found.context["cl"].result_list]
    namespaces.grant(namespace=acme, grantee=cooks, role=Role.OWNER, actor=NOBODY)
    found = operator_client.get(reverse("admin:accounts_namespace_changelist", query={"leaderless": "yes"}))
    assert [row.name for row in found.context["cl"].result_list] == ["hall"], "Charlie can act for the team"
