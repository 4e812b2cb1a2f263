"""A name that looks like that of an older namespace is refused to people without a role in it."""

import re

import pytest

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role, Visibility
from apps.accounts.people import teams
from apps.audit.models import AuditEvent
from apps.lib.addresses import skeleton
from apps.lib.errors import Conflict
from tests.rows import for_each_row
from tests.threads import at_once

pytestmark = pytest.mark.django_db


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


def test_a_row_that_an_older_larder_made_counts(put, charlie, acme):
    assert acme.skeleton == "", "this fixture's does not"
    assert put(charlie, "acne")[0] == 409


@pytest.mark.both
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
