"""Creating namespaces and giving roles: the constraint decides races, a namespace keeps an owner, a name its look."""

import re

import pytest

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Namespace, Role, Visibility
from apps.accounts.people import teams
from apps.audit.models import AuditEvent
from apps.lib.addresses import skeleton
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

    with pytest.raises(RoleRequired, match="Only operators create namespaces here"):
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


# --- Look-alikes of older namespaces are refused to people without a role in those -----------------------------------


@pytest.fixture
def put(tofu):
    """Ask the API for a private namespace, and return the status and the message."""

    def send(person, name):
        answer = tofu(person).put(
            f"/api/v1/namespaces/{name}", {"visibility": "private"}, content_type="application/json"
        )
        body = answer.json()
        return answer.status_code, body.get("error", {}).get("message", "")

    return send


def set_visibility(namespace, visibility):
    Namespace.objects.filter(pk=namespace.pk).update(visibility=visibility)


@pytest.mark.both
@for_each_row("name", ["ac-me", "acne", "acrne", "Acne", "4cme"])
def test_a_stranger_is_refused_and_not_told_of_a_hidden_namespace(put, acme, charlie, name):
    """The answer is that for an equal name, but for the name in it."""
    assert acme.skeleton == "", "as of a row that an older Larder made"
    status, message = put(charlie, name)
    equal = put(charlie, "acme")

    assert (status, message.replace(name, "acme")) == equal
    assert status == 409
    assert not re.search(r"look|alike|close|similar", message)
    assert not Namespace.objects.filter(name=name).exists()


def test_whoever_sees_the_older_one_is_told(put, acme, charlie):
    set_visibility(acme, Visibility.INTERNAL)

    status, message = put(charlie, "acne")

    assert (status, "The name acne looks like acme, which exists." in message) == (409, True)


def test_the_page_says_it_at_the_field(browser_of, acme, charlie):
    set_visibility(acme, Visibility.PUBLIC)

    page = browser_of(charlie).post("/namespaces/new", {"name": "ha11", "visibility": "private"})
    assert page.status_code == 303
    page = browser_of(charlie).post("/namespaces/new", {"name": "acrne", "visibility": "private"})
    assert (page.status_code, "The name acrne looks like acme, which exists." in page.text) == (409, True)


def test_people_with_a_role_in_it_may(put, acme, alice, bob, dora, charlie):
    cooks = teams.create(name="cooks", actor=Viewer(charlie))
    namespaces.grant(namespace=acme, grantee=cooks, role=Role.READER, actor=Viewer(dora))

    taken = {person: put(person, name)[0] for person, name in ((bob, "acne"), (charlie, "ac-me"))}

    assert taken == {bob: 201, charlie: 409}, "charlie has no role in acne"
    assert put(alice, "acrne")[0] == 409
    assert put(bob, "acrne")[0] == 201


def test_operators_may_and_the_log_says_what_it_looks_like(put, acme, olga):
    assert put(olga, "acne")[0] == 201

    detail = AuditEvent.objects.get(kind="namespace:namespace:created", subject="acne").detail
    assert detail["looks_like"] == [acme.pk]


def test_the_look_of_a_deleted_name_is_for_its_former_owners(put, tofu, acme, dora, charlie):
    assert tofu(dora).delete("/api/v1/namespaces/acme").status_code == 204

    assert put(charlie, "acne")[0] == 409
    assert put(dora, "acne")[0] == 201
    assert put(dora, "acme")[0] == 201, "and the name itself"


def test_a_pair_that_is_there_remains_and_one_query_looks(acme, charlie, django_assert_num_queries):
    for name in ("acne", "hall"):
        Namespace.objects.create(name=name, canonical=name, skeleton=skeleton(name))
    Namespace.objects.filter(pk=acme.pk).update(skeleton="acme")
    row = Namespace(name="ac-me", skeleton="acme")

    with django_assert_num_queries(2), pytest.raises(Conflict):  # and one for the message
        namespaces._look_alikes(row, charlie, Viewer(charlie))
    assert Namespace.objects.filter(name__in=["acme", "acne"]).count() == 2


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_of_two_look_alikes_at_once_one_wins(charlie, bob, alice, dora):
    people = {charlie: "tools", bob: "t00ls", alice: "too1s", dora: "to-ols"}
    calls = [
        lambda person=person, name=name: namespaces.create(name=name, visibility="private", actor=Viewer(person))
        for person, name in people.items()
    ]

    results = at_once(*calls)

    assert [type(result) for result in results].count(Conflict) == 3
    assert Namespace.objects.filter(name__in=people.values()).count() == 1
