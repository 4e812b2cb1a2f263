"""Operator and Auditor: what each may do at the gate, and that neither makes more of itself."""

import pytest
from django.contrib.auth.models import Group, Permission
from django.urls import reverse

from apps.accounts.access import gate, staff_roles
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Invitation, Role, User
from apps.accounts.people import accounts
from apps.lib.errors import Conflict, RoleRequired
from tests.cast import person
from tests.rows import for_each_row


@pytest.fixture
def staff(db):
    """A member of staff with a ready role."""

    def make(role):
        user = person(role.lower(), is_staff=True)
        user.groups.add(Group.objects.get(name=role))
        return user

    return make


def named(role):
    return {f"{one.content_type.app_label}.{one.codename}" for one in staff_roles.permissions_of(role)}


def held(role):
    rows = Permission.objects.filter(group__name=role).select_related("content_type")
    return {f"{one.content_type.app_label}.{one.codename}" for one in rows}


@for_each_row("role", [staff_roles.OPERATOR, staff_roles.AUDITOR])
def test_a_role_is_there_with_all_its_permissions(db, role):
    assert held(role) == named(role) >= {"providers.view_providerversion", "signing.view_signingkey", "oci.view_tag"}


def test_every_act_that_a_role_names_is_a_permission(db):
    listed = {f"{label}.{codename}" for label, codenames in staff_roles.acts().items() for codename in codenames}

    assert listed - named(staff_roles.OPERATOR) == {"releases.purge_release"}
    assert {one for one in named(staff_roles.AUDITOR) if ".view_" not in one} == set()


def test_migrating_brings_a_role_up_to_date(db):
    group = Group.objects.get(name=staff_roles.AUDITOR)
    group.permissions.set(Permission.objects.filter(codename="purge_release"))

    staff_roles.bring_up_to_date()

    assert held(staff_roles.AUDITOR) == named(staff_roles.AUDITOR)


def test_an_operator_owns_every_namespace_and_an_auditor_reads_each_and_keeps_what_they_have_as_a_member(acme, staff):
    auditor = staff("Auditor")
    viewer = Viewer(auditor)
    assert gate.role_on(Viewer(staff("Operator")), acme) == Role.OWNER
    assert gate.role_on(viewer, acme) == Role.READER
    assert list(gate.visible_namespaces(viewer)) == [acme]
    assert not gate.namespaces_with_role(viewer, Role.PUBLISHER).exists()
    with pytest.raises(RoleRequired, match="needs the role owner"):
        gate.namespace_for(viewer, "acme", need=Role.OWNER)

    Grant.objects.create(namespace=acme, user=auditor, role=Role.PUBLISHER)
    assert gate.role_on(Viewer(auditor), acme) == Role.PUBLISHER


@for_each_row("role", ["Operator", "Auditor"])
@for_each_row("whose", ["own", "another's"])
def test_no_role_gives_rights(staff, browser_of, bob, role, whose):
    """Neither by the page, whose boxes are not there, nor by the verb."""
    actor = staff(role)
    user = actor if whose == "own" else bob
    told: dict[str, object] = {"is_active": "on", "is_staff": "on", "is_superuser": "on"}
    told["groups"] = [one.pk for one in Group.objects.all()]
    told["user_permissions"] = [one.pk for one in staff_roles.permissions()]
    before = (list(user.groups.all()), user.is_staff)

    browser_of(actor).post(reverse("admin:accounts_user_change", args=[user.pk]), told)
    with pytest.raises(RoleRequired):
        accounts.change(
            user=user,
            actor=Viewer(actor),
            is_active=True,
            is_staff=user.is_staff,
            is_superuser=False,
            roles=Group.objects.filter(name="Operator" if role == "Auditor" else "Auditor"),
        )

    after = User.objects.get(pk=user.pk)
    assert (list(after.groups.all()), after.is_staff) == before
    assert (after.is_superuser, after.user_permissions.exists()) == (False, False)


def test_nobody_changes_their_own_roles(olga):
    with pytest.raises(Conflict, match="your own rights"):
        accounts.change(
            user=olga, actor=Viewer(olga), is_active=True, is_staff=True, is_superuser=True, roles=Group.objects.all()
        )


def test_staff_who_may_only_invite_invite_into_no_namespace(acme, browser_of):
    sam = person("sam", is_staff=True)
    sam.user_permissions.add(*Permission.objects.filter(codename__in=["add_invitation", "view_namespace"]))

    told = {"note": "me again", "namespace": acme.pk, "role": Role.OWNER}
    page = browser_of(sam).post(reverse("admin:accounts_invitation_add"), told, follow=True)

    assert "needs the role owner in acme" in page.text
    assert not Invitation.objects.exists()
