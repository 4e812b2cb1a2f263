"""Creating namespaces and giving roles: the constraint decides races, a namespace keeps an owner."""

import pytest

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Namespace, Role, Visibility
from apps.lib.errors import Conflict, Invalid, RoleRequired
from tests.rows import for_each_row
from tests.threads import at_once


def create(actor: Viewer, name: str = "tools", visibility: str = Visibility.PRIVATE, **more):
    return namespaces.create(name=name, visibility=visibility, actor=actor, **more)


def test_whoever_creates_it_owns_it(charlie, event_kinds):
    namespace = create(Viewer(charlie), description="What we share")

    assert Grant.objects.get(namespace=namespace).user == charlie
    assert Grant.objects.get(namespace=namespace).role == Role.OWNER
    assert event_kinds() == ["namespace:namespace:created"]


@pytest.mark.both
@for_each_row(
    ("name", "error"),
    [("Acme", Conflict), ("a--b", Invalid), ("new", Invalid), ("v2", Invalid), ("", Invalid), ("acme", Conflict)],
)
def test_it_refuses_bad_and_taken_names(acme, charlie, name, error):
    with pytest.raises(error):
        create(Viewer(charlie), name)


def test_an_operator_may_reserve_more_names(charlie, settings):
    settings.RESERVED_NAMES = frozenset({"hashicorp"})

    with pytest.raises(Invalid, match="reserved"):
        create(Viewer(charlie), "hashicorp")


def test_a_taken_name_is_shown_only_to_those_who_see_it(acme, bob, charlie):
    with pytest.raises(Conflict, match="already exists"):
        create(Viewer(bob), "acme")
    with pytest.raises(Conflict, match="is taken"):
        create(Viewer(charlie), "acme")


def test_a_setting_leaves_it_to_staff(charlie, olga, settings):
    settings.NAMESPACE_CREATION = "staff"

    with pytest.raises(RoleRequired, match="Only staff"):
        create(Viewer(charlie))
    assert create(Viewer(olga)).name == "tools"


def test_a_change_records_before_and_after(acme, dora, event_kinds):
    namespaces.change(namespace=acme, actor=Viewer(dora), visibility=Visibility.PUBLIC)
    namespaces.change(namespace=acme, actor=Viewer(dora), visibility=Visibility.PUBLIC)

    acme.refresh_from_db()
    assert acme.visibility == Visibility.PUBLIC
    assert event_kinds() == ["namespace:namespace:changed"]
    with pytest.raises(Invalid):
        namespaces.change(namespace=acme, actor=Viewer(dora), visibility="secret")


def test_roles_are_given_changed_and_withdrawn(acme, dora, charlie, event_kinds):
    actor = Viewer(dora)
    grant = namespaces.grant(namespace=acme, grantee=charlie, role=Role.READER, actor=actor)
    namespaces.grant(namespace=acme, grantee=charlie, role=Role.READER, actor=actor)
    namespaces.grant(namespace=acme, grantee=charlie, role=Role.PUBLISHER, actor=actor)
    namespaces.withdraw(grant=grant, actor=actor)
    namespaces.withdraw(grant=grant, actor=actor)

    assert not Grant.objects.filter(user=charlie).exists()
    assert event_kinds() == ["namespace:grant:given", "namespace:grant:given", "namespace:grant:withdrawn"]


def test_the_last_owner_stays(acme, dora):
    grant = Grant.objects.get(user=dora)

    with pytest.raises(Conflict, match="at least one owner"):
        namespaces.withdraw(grant=grant, actor=Viewer(dora))
    with pytest.raises(Conflict, match="at least one owner"):
        namespaces.grant(namespace=acme, grantee=dora, role=Role.READER, actor=Viewer(dora))
    assert Grant.objects.get(user=dora).role == Role.OWNER


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_of_two_who_create_it_at_once_one_wins(charlie, olga):
    results = at_once(lambda: create(Viewer(charlie)), lambda: create(Viewer(olga)))

    assert [type(result) for result in results].count(Conflict) == 1
    assert Namespace.objects.filter(name="tools").count() == 1


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_two_owners_who_withdraw_each_other_leave_one(acme, dora, olga):
    hers = Grant.objects.get(user=dora)
    other = Grant.objects.create(namespace=acme, user=olga, role=Role.OWNER)

    results = at_once(
        lambda: namespaces.withdraw(grant=hers, actor=Viewer(olga)),
        lambda: namespaces.withdraw(grant=other, actor=Viewer(dora)),
    )

    assert [type(result) for result in results].count(Conflict) == 1
    assert Grant.objects.filter(namespace=acme, role=Role.OWNER).count() == 1
