"""Query sets that are written as SQL once: the same rows as Django's, with whatever values."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import BigIntegerField, BinaryField, CharField, DateTimeField, F

from apps.accounts.models import ApiToken
from apps.jobs.compiled_queries import CompiledQuery, Slot
from apps.lib import versions
from apps.releases.models import Release

pytestmark = pytest.mark.both


@pytest.fixture
def releases(published):
    return [published("acme/vpc/aws", version) for version in ("1.0.0", "1.2.0", "2.0.0-rc.1")]


def test_the_rows_are_those_of_the_query_set(releases, django_assert_num_queries):
    key, earlier = versions.sort_key("1.2.0"), datetime.now(tz=UTC) - timedelta(hours=1)

    def rows(sort_key, at, number, name):
        found = Release.objects.select_related("namespace", "created_by").annotate(spelled=F("namespace__name"))
        return found.filter(sort_key=sort_key, created_at__gt=at, namespace=number, name=name).order_by("pk")

    statement = CompiledQuery(
        lambda: rows(
            Slot("sort_key", BinaryField()),
            Slot("at", DateTimeField()),
            Slot("number", BigIntegerField()),
            Slot("name", CharField()),
        )
    )
    number = releases[0].namespace_id
    for name, at in (("vpc/aws", earlier), ("other/aws", earlier), ("vpc/aws", earlier + timedelta(hours=2))):
        expected = list(rows(key, at, number, name))
        with django_assert_num_queries(1):
            found = statement(sort_key=key, at=at, number=number, name=name)
        assert found == expected
        assert [one.spelled for one in found] == [one.spelled for one in expected]
    found = statement(sort_key=key, at=earlier, number=number, name="vpc/aws")
    assert [one.version for one in found] == ["1.2.0"]
    with django_assert_num_queries(0):  # they came with the row
        assert (found[0].namespace.name, found[0].created_by.username) == ("acme", "alice")


def test_columns_are_converted_as_the_query_set_converts_them(releases):
    def rows(name):
        return Release.objects.filter(name=name).order_by("-sort_key").values_list("version", "created_at", "notes")

    statement = CompiledQuery(lambda: rows(Slot("name", CharField())))
    assert statement(name="vpc/aws") == list(rows("vpc/aws"))
    assert statement(name="none/aws") == []


def test_a_value_that_is_missing_is_an_error(db):
    statement = CompiledQuery(lambda: ApiToken.objects.filter(digest=Slot("digest", CharField())))
    with pytest.raises(KeyError):
        statement(other="x")
