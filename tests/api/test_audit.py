"""GET /api/v1/audit and /api/v1/namespaces/<ns>/audit: for staff everything, for owners what concerns the namespace."""

import csv
import json

import pytest

from apps.accounts.access.gate import NOBODY
from apps.accounts.models import Namespace
from apps.accounts.people.accounts import set_password
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.audit.recorder import record
from tests.rows import for_each_row

ACME = "/api/v1/namespaces/acme/audit"


@pytest.fixture
def as_dora(dora, tofu):
    return tofu(dora, scope="manage")


def events(client, url):
    answer = client.get(url)
    assert answer.status_code == 200, answer.content
    return answer.json()["events"]


def test_an_owner_reads_who_published_and_from_where(as_dora, alice, published):
    published("acme/vpc/aws", "1.0.0")
    newest, *_ = found = events(as_dora, ACME)

    assert {event["subject"].partition("/")[0] for event in found} == {"acme"}
    assert newest["kind"] == "namespace:release:published"
    assert found[-1]["actor"] == {"id": alice.pk, "name": "alice"}
    assert newest["subject"] == "acme/vpc/aws 1.0.0"


@pytest.mark.both
def test_a_namespace_of_the_same_beginning_is_another(as_dora, dora, alice, published):
    Namespace.objects.create(name="acme-labs", canonical="acme-labs")
    record(Kind.NAMESPACE_CHANGED, actor_id=dora.pk, subject="acme-labs")
    record(Kind.USER_CHANGED, actor_id=dora.pk, subject="acme")

    assert events(as_dora, ACME) == []


@pytest.mark.both
def test_pages_follow_each_other_without_a_gap_and_filters_stay(as_dora, dora, in_pages):
    for number in range(5):
        record(Kind.NAMESPACE_CHANGED, actor_id=dora.pk, subject="acme", number=number)
        record(Kind.GRANT_GIVEN, actor_id=dora.pk, subject="acme")
    rows = in_pages(as_dora, f"{ACME}?kind=namespace:namespace:changed", queries=5)

    assert [event["detail"]["number"] for event in rows] == [4, 3, 2, 1, 0]


def test_staff_read_everything_with_names_in_a_fixed_number_of_queries(
    olga, alice, tofu, published, django_assert_max_num_queries
):
    published("acme/vpc/aws", "1.0.0")
    set_password(user=alice, actor=NOBODY, password="a longer pear tree")
    client = tofu(olga, scope="manage")
    with django_assert_max_num_queries(5):
        found = events(client, "/api/v1/audit?person=alice")

    assert {event["kind"].partition(":")[0] for event in found} == {"account", "namespace"}


def test_a_limited_token_of_staff_reads_no_audit_of_everything(client, olga, acme, bearer):
    for limits in ({"scope": "publish"}, {"scope": "manage", "namespaces": [acme]}):
        answer = client.get("/api/v1/audit", headers=bearer(olga, **limits))
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden"), limits
    assert AuditEvent.objects.filter(kind=Kind.PERMISSION_REFUSED, actor_id=olga.pk).count() == 2


def test_files_have_every_row_oldest_first(as_dora, dora):
    for number in range(3):
        record(Kind.NAMESPACE_CHANGED, actor_id=dora.pk, subject="acme", number=number, said="=1+1")
    lines = as_dora.get(f"{ACME}?format=jsonl").getvalue().decode().splitlines()
    table = list(csv.reader(as_dora.get(f"{ACME}?format=csv").getvalue().decode().splitlines()))

    assert [json.loads(line)["detail"]["number"] for line in lines] == [0, 1, 2]
    assert (len(table), table[0][:3], table[1][4]) == (4, ["id", "at", "kind"], "dora")


@for_each_row(
    ("query", "found"),
    [
        ("kind=published", "There is no event kind “published”."),
        ("since=yesterday", "“yesterday” in `since` is not a date."),
        ("until=9999-12-31", "“9999-12-31” in `until` is not a date."),
        ("format=xml", "There is no format “xml”."),
        ("person=%00", ""),
        ("cursor=x", ""),
        ("cursor=99999999999999999999", ""),
    ],
)
def test_a_question_that_makes_no_sense_is_told_what_would(as_dora, query, found):
    answer = as_dora.get(f"{ACME}?{query}")

    assert answer.status_code == (422 if found else 200)
    if found:
        assert answer.json()["error"]["message"] == found
        assert answer.json()["error"]["hint"]
