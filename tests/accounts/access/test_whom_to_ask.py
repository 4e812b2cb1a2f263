"""Refusals name the role that is needed and who can give it, and never a permission's code."""

import re

import pytest
from django.contrib.auth.models import Group, Permission

from apps.accounts.access import contacts, operators, staff_roles
from apps.accounts.access.gate import NOBODY, OPERATE, Viewer, namespace_for, team_for
from apps.accounts.models import Membership, Role, Team, User
from apps.lib.errors import RoleRequired
from tests import pages
from tests.cast import person

pytestmark = pytest.mark.django_db
NEEDED = {
    OPERATE: 'the staff role Operator, or the permission "Can act as owner in every namespace"',
    "jobs.view_job": 'the staff role Auditor, or the permission "Can view job"',
    "releases.purge_release": 'the permission "Can purge a published version", which no role includes',
}
CODE = re.compile(r"\w+\.\w+_\w+|[a-z]+_[a-z]+")


def refusal_of(act) -> str:
    with pytest.raises(RoleRequired) as caught:
        act()
    return f"{caught.value} {caught.value.hint}"


@pytest.fixture
def sam(db) -> User:
    """Staff, without a role."""
    return person("sam", is_staff=True)


def test_staff_read_the_role_and_the_superusers_for_each_permission_and_no_code(sam, olga, acme):
    person("gone", is_staff=True, is_superuser=True, is_active=False)
    for permission in staff_roles.permissions():
        code = f"{permission.content_type.app_label}.{permission.codename}"
        said = refusal_of(lambda code=code: operators.require_permission(Viewer(sam), acme, code))
        assert not CODE.search(said), said
        assert said.endswith(": olga."), said
        assert said == refusal_of(lambda code=code: operators.require_everywhere(Viewer(sam), code))

    for code, needed in NEEDED.items():
        assert refusal_of(lambda code=code: operators.require_everywhere(Viewer(sam), code)) == (
            f"This needs {needed}. Ask a superuser for it: olga."
        )


def test_what_a_refusal_names_is_enough(sam, olga, acme):
    sam.groups.add(Group.objects.get(name="Operator"))
    sam.user_permissions.add(Permission.objects.get(codename="purge_release"))

    for code in NEEDED:
        operators.require_everywhere(Viewer(sam), code)


def test_a_person_reads_who_operates_and_a_stranger_does_not(bob, olga, sam):
    def refused(viewer):
        return refusal_of(lambda: operators.require_everywhere(viewer, OPERATE))

    assert refused(Viewer(bob)) == "Only operators can do this. Ask an operator: olga."
    assert refused(NOBODY) == "Only operators can do this. Sign in as an operator."


def test_a_member_reads_the_owners_or_where_there_is_none_the_operators(alice, bob, olga, acme, dora):
    def refused():
        return refusal_of(lambda: namespace_for(Viewer(bob), "acme", need=Role.OWNER))

    assert refused() == (
        "This needs the role owner in acme; you have reader. Ask an owner of acme for the role owner: dora."
    )
    dora.is_active = False
    dora.save()
    assert refused().endswith("acme has no active owner. Ask an operator for the role owner: olga.")


def test_a_member_of_a_team_reads_its_managers(bob, dora, olga):
    team = Team.objects.create(name="cooks")
    Membership.objects.create(team=team, user=bob)
    membership = Membership.objects.create(team=team, user=dora, is_manager=True)

    def refused():
        return refusal_of(lambda: team_for(Viewer(bob), "cooks", manage=True))

    assert refused().endswith("Ask a manager of cooks: dora.")
    membership.delete()
    assert refused().endswith("Ask an operator: olga.")


def test_of_many_some_are_named():
    assert contacts.named("abcdefgh") == "a, b, c, d, e and 3 more"


def test_pages_of_operators_say_so_to_people_and_to_staff_without_a_role(browser_of, bob, sam, olga):
    def refused(user, url):
        response = browser_of(user).get(url, follow=True)
        assert response.status_code == 403
        return pages.text_of(response)

    said = refused(bob, "/admin/jobs/job/")
    assert "Only operators can open this page." in said
    assert "Ask an operator: olga." in said
    said = refused(sam, "/admin/jobs/job/")
    assert "Ask a superuser for the role Auditor, to read, or Operator, to act: olga." in said
