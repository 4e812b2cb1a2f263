"""Questions whose SQL is made once."""

import threading
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q

from apps.accounts.access.prepared import Prepared
from apps.accounts.models import Membership, Namespace, User
from apps.releases.models import Release

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def test_each_asks_for_its_own_values(acme: Namespace, pantry: Namespace) -> None:
    named = Prepared(lambda name: Namespace.objects.select_related("created_by").filter(name=name), name=str)
    assert [named.first(name=name) for name in ("acme", "pantry", "nowhere")] == [acme, pantry, None]
    assert named.first(name="acme").visibility == acme.visibility  # type: ignore[union-attr]


def test_the_queryset_is_made_once(alice: User, bob: User, django_assert_num_queries: Any) -> None:
    made = []

    def make(pk: int, name: str) -> Any:
        made.append(pk)
        return User.objects.filter(Q(pk=pk) | Q(username=name)).order_by("pk")

    people = Prepared(make, pk=int, name=str)
    assert people.rows(pk=alice.pk, name="nobody") == [alice]
    with django_assert_num_queries(1):
        assert people.rows(pk=alice.pk, name=bob.username) == sorted([alice, bob], key=lambda one: one.pk)
    assert len(made) == 1


def test_rows_of_columns_are_converted_as_always(alice: User) -> None:
    joined = Prepared(lambda pk: User.objects.filter(pk=pk).values_list("date_joined", "is_active"), pk=int)
    assert joined.first(pk=alice.pk) == (alice.date_joined, True)


def test_bytes_are_asked_for_as_bytes(published: Any) -> None:
    release = published("acme/vpc/aws", "1.2.0")
    keyed = Prepared(lambda key: Release.objects.filter(sort_key=key).order_by("-pk"), key=bytes)
    assert keyed.first(key=bytes(release.sort_key)) == release
    assert keyed.first(key=b"no such key") is None


def test_a_value_that_does_not_come_through_is_reported() -> None:
    with pytest.raises(ValueError, match="pk"):
        Prepared(lambda pk: Membership.objects.exclude(user=bool(pk)), pk=int).rows(pk=1)


@pytest.mark.django_db(transaction=True)
def test_another_thread_asks_over_its_own_connection(alice: User) -> None:
    people = Prepared(lambda pk: User.objects.filter(pk=pk), pk=int)
    assert people.first(pk=alice.pk) == alice
    seen: list[object] = []

    def ask() -> None:
        try:
            seen.append(people.first(pk=alice.pk))
        finally:
            connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert seen == [alice]
