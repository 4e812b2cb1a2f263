"""Operators change things through the verbs, so each change leaves an audit row."""

import re

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from apps.accounts.models import ApiToken, Grant, Invitation, Namespace, User
from apps.audit.models import AuditEvent
from tests.admin import rows
from tests.admin.lists import run
from tests.rows import for_each_row


def kinds():
    """The audit rows since Olga signed in."""
    events = AuditEvent.objects.exclude(kind="account:user:signed-in").order_by("pk")
    return list(events.values_list("kind", flat=True))


def test_a_namespace_is_created_by_its_verb_and_a_broken_rule_is_explained_at_its_field(operator_client, olga):
    form = {"name": "Plat__form", "visibility": "internal", "breaking_changes": "warn", "description": "Ours"}
    page = operator_client.post(reverse("admin:accounts_namespace_add"), form)
    assert page.context["adminform"].form.errors["name"]
    assert not Namespace.objects.exists()

    response = operator_client.post(reverse("admin:accounts_namespace_add"), form | {"name": "platform"}, follow=True)
    assert response.status_code == 200
    assert Grant.objects.get(namespace__name="platform").user == olga
    assert kinds() == ["namespace:namespace:created"]


def inline(*grants, extra=()):
    """The fields of the members' formset: rows that exist, then new ones."""
    lines = [*({"id": g.pk, "namespace": g.namespace_id, "user": g.user_id, "role": g.role} for g in grants), *extra]
    counts = {"grants-TOTAL_FORMS": len(lines), "grants-INITIAL_FORMS": len(grants)}
    return counts | {f"grants-{n}-{field}": value for n, line in enumerate(lines) for field, value in line.items()}


def test_members_change_by_the_verbs(operator_client, acme, bob, charlie, dora):
    held = Grant.objects.get(user=bob)
    usual = {"visibility": "public", "breaking_changes": "warn", "description": ""}
    form = usual | inline(held, extra=[{"user": charlie.pk, "role": 2}])
    form |= {"grants-0-DELETE": "on", "grants-1-namespace": acme.pk}
    operator_client.post(reverse("admin:accounts_namespace_change", args=[acme.pk]), form)

    assert set(acme.grants.values_list("user__username", "role")) == {("charlie", 2), ("dora", 3)}
    assert kinds() == ["namespace:namespace:changed", "namespace:grant:given", "namespace:grant:withdrawn"]


def test_a_grant_is_given_changed_and_withdrawn_but_the_last_owner_stays(operator_client, acme, charlie, dora):
    operator_client.post(reverse("admin:accounts_grant_add"), {"namespace": acme.pk, "user": charlie.pk, "role": 1})
    held = Grant.objects.get(user=charlie)
    operator_client.post(reverse("admin:accounts_grant_change", args=[held.pk]), {"role": 2})
    held.refresh_from_db()
    assert held.role == 2

    operator_client.post(reverse("admin:accounts_grant_delete", args=[held.pk]), {"post": "yes"})
    last = Grant.objects.get(user=dora)
    page = operator_client.post(reverse("admin:accounts_grant_delete", args=[last.pk]), {"post": "yes"}, follow=True)
    assert "at least one owner" in page.text
    assert list(acme.grants.all()) == [last]
    assert kinds() == ["namespace:grant:given", "namespace:grant:given", "namespace:grant:withdrawn"]


def test_a_person_comes_by_invitation_only(operator_client, acme):
    assert operator_client.get("/admin/accounts/user/add/").status_code == 403
    assert (
        reverse("admin:accounts_invitation_add") in operator_client.get(reverse("admin:accounts_user_changelist")).text
    )

    operator_client.post(reverse("admin:accounts_invitation_add"), {"note": "", "namespace": acme.pk, "role": ""})
    assert not Invitation.objects.exists(), "with a namespace it needs a role"
    form = {"note": "for Erin", "namespace": acme.pk, "role": 1}
    page = operator_client.post(reverse("admin:accounts_invitation_add"), form, follow=True)
    assert re.search(r"/invitations/[\w-]{20,}", page.text)
    assert kinds() == ["account:user:invited"]

    run(operator_client, "revoke", Invitation.objects.get())
    assert kinds()[1:] == ["account:user:invitation-revoked"]


def test_an_account_is_switched_off_with_a_trace_and_nobody_locks_themselves_out(operator_client, bob, olga):
    operator_client.post(reverse("admin:accounts_user_change", args=[bob.pk]), {"is_staff": "on"})
    bob.refresh_from_db()

    assert (bob.is_active, bob.is_staff) == (False, True)
    assert kinds() == ["account:user:changed"]
    event = AuditEvent.objects.get(kind="account:user:changed")
    assert event.detail["changes"] == {"is_active": [True, False], "is_staff": [False, True]}

    page = operator_client.post(reverse("admin:accounts_user_change", args=[olga.pk]), {"is_active": "on"}, follow=True)
    olga.refresh_from_db()
    assert olga.is_superuser
    assert "You cannot change your own rights" in page.text


def test_an_operator_who_is_no_superuser_makes_no_operators(browser_of, bob, charlie):
    User.objects.filter(pk=bob.pk).update(is_staff=True)
    bob.user_permissions.add(*Permission.objects.filter(codename__in=["view_user", "change_user"]))
    url = reverse("admin:accounts_user_change", args=[charlie.pk])
    browser_of(User.objects.get(pk=bob.pk)).post(url, {"is_active": "on", "is_staff": "on", "is_superuser": "on"})
    charlie.refresh_from_db()

    assert (charlie.is_active, charlie.is_staff, charlie.is_superuser) == (True, False, False)
    assert kinds() == []


def test_a_token_is_revoked_and_its_digest_never_shown(operator_client, bearer, bob, client):
    headers = bearer(bob)
    token = ApiToken.objects.get()
    url = reverse("admin:accounts_apitoken_change", args=[token.pk])
    for page in (operator_client.get(url), operator_client.get(reverse("admin:accounts_apitoken_changelist"))):
        assert token.start in page.text
        assert token.digest not in page.text

    run(operator_client, "revoke", token)
    assert kinds()[-1] == "account:token:revoked"
    assert client.get("/v1/modules/acme/vpc/aws/versions", headers=headers).status_code == 401


def test_nothing_is_deleted_in_bulk(operator_client, acme):
    rows.make(0, 1)
    for model in rows.LISTED:
        run(operator_client, "delete_selected", model.objects.order_by("pk").first())
        assert model.objects.exists()


@for_each_row("model", ["jobs_job", "accounts_apitoken", "oci_uploadsession"])
@for_each_row("key", ["'", "{{7*7}}", "9" * 30])
def test_an_action_on_a_key_that_is_none_leads_back_to_the_list(operator_client, model, key):
    url = reverse(f"admin:{model}_changelist")
    action = {"jobs_job": "retry", "accounts_apitoken": "revoke", "oci_uploadsession": "end"}[model]

    assert operator_client.post(url, {"action": action, "_selected_action": key}).status_code == 302


@pytest.mark.slow
@for_each_row("key", ["a--b", "🦀", "9" * 30, "-1", ""])
@for_each_row("field", ["namespace", "user", "team"])
def test_a_link_or_form_with_a_key_that_is_none_shows_the_form(operator_client, field, key):
    url = reverse("admin:accounts_grant_add")

    assert operator_client.get(url, {field: key}).status_code == 200
    assert operator_client.post(url, {field: key, "role": 1}).status_code == 200


@for_each_row("key", ["'", "9" * 30, "9" * 5000, "%00"])
@for_each_row("model", ["jobs_job", "modules_moduleversion", "oci_uploadsession", "accounts_grant"])
def test_a_row_that_cannot_be_is_not_found(operator_client, model, key):
    for page in ("change", "history"):
        url = reverse(f"admin:{model}_{page}", args=["1"]).replace("/1/", f"/{key}/")
        assert operator_client.get(url).status_code in (302, 404)
