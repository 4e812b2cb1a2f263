"""The plans behind the admin's lists: no table that grows with the registry is read whole or sorted whole."""

import re

import pytest
from django.apps import apps
from django.contrib import admin, messages
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.admin_base import listing
from apps.artifacts.models import Manifest
from apps.audit.models import AuditEvent
from apps.blobs.models import Blob
from apps.modules.models import Module, ModuleVersion
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.models import DownloadCount, Release, SearchDoc
from apps.signing.models import SigningKey
from bench.lists import scans
from tests import rooms
from tests.admin import rows
from tests.admin.lists import list_of
from tests.rows import for_each_row

LARGE = (
    *(Release, ModuleVersion, Module, SearchDoc, Package, ProviderVersion, AuditEvent, Blob, DownloadCount),
    *rooms.rows("LARGE"),
)
TABLES = {model._meta.db_table: 1_000_000 for model in LARGE}
# Providers and keys are few, and SQLite begins some joins with them.
FEW = (Provider, SigningKey, *rooms.rows("FEW"))
EVERY = {model._meta.db_table: 1_000_000 for model in apps.get_models() if model not in FEW}
# An address, its beginning, a word, a version, a digest: without rows every other word is asked like one of these.
WORDS = ("team1/module-1/azurerm", "team1/provider-1", "nowhere", "1.0.0", "0a1b2c3d")
SORTS = re.compile("USE TEMP B-TREE FOR ORDER BY")


@pytest.fixture
def planned(db):
    """With few rows PostgreSQL reads them all; forbidden to, it does so only where no index serves."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = on")


@pytest.fixture
def two_pages(db):
    rows.make(0, 51)


def asked(client, path):
    with CaptureQueriesContext(connection) as queries:
        page = client.get(path)
    assert page.status_code == 200, path
    return page, [query["sql"] for query in queries]


def scanned(statements):
    return sorted({scan for sql in statements for scan in scans(sql, TABLES)})


def scanned_to_find(statements):
    """Tables and indexes of any size that the counts of a search or filter read from end to end."""
    found = [
        scan
        for sql in statements
        if sql.startswith("SELECT COUNT(*)")
        for scan in scans(sql, EVERY, is_ended_early=False)
    ]
    return sorted(set(found))


@pytest.mark.slow
@pytest.mark.both
@pytest.mark.usefixtures("planned")
@for_each_row("model", [model for model in LARGE if admin.site._registry[model].search_fields])
def test_a_search_reads_no_large_table_whole(operator_client, model):
    for word in WORDS:
        _, statements = asked(operator_client, list_of(model, q=word))
        assert scanned(statements) == [], word
        assert scanned_to_find(statements) == [], word


@pytest.mark.both
@pytest.mark.usefixtures("planned")
def test_a_filter_for_few_rows_reads_no_large_table_whole_and_a_search_is_counted_without_its_rows(operator_client):
    rows.make(0, 3)
    for model, query in (
        (Package, {"os": "linux"}),
        (Package, {"arch": "amd64"}),
        (Release, {"in": "team7"}),
        (Release, {"quarantined": "1", "state__exact": "published"}),
        (ModuleVersion, {"inspection": "outdated"}),
        (AuditEvent, {"kind__exact": "account:user:joined"}),
    ):
        _, statements = asked(operator_client, list_of(model, **query))
        assert scanned(statements) == scanned_to_find(statements) == [], query
    for query in ({"q": "team1"}, {"q": "team1", "kind__exact": "module"}):
        page, statements = asked(operator_client, list_of(Release, **query))
        [count] = [sql for sql in statements if sql.startswith("SELECT COUNT(*)") and "UNION" in sql]
        assert page.context["cl"].result_count == 1
        found = " = ANY(" if connection.vendor == "postgresql" else " IN ("
        assert (found in count) is ("kind__exact" in query)


@pytest.mark.usefixtures("planned")
def test_the_start_page_reads_no_large_table_whole_and_asks_once_for_all_counts(operator_client):
    operator_client.get(reverse("admin:index"))
    _, statements = asked(operator_client, reverse("admin:index"))

    assert scanned(statements) == []
    assert len(statements) <= 16  # five of the frame, three of the charts


@pytest.mark.slow
def test_an_index_has_every_order_that_a_long_list_may_have(operator_client, two_pages, monkeypatch):
    """The default, and each of `indexed_orders` both ways; SQLite says where it sorts all rows."""
    monkeypatch.setattr(listing, "MAX_SORTED_ROWS", 0)
    for model in {*LARGE, Manifest}:
        page = operator_client.get(list_of(model)).context["cl"]
        fields = [page.get_ordering_field(column) for column in page.list_display]
        indexed = [fields.index(order) for order in page.model_admin.indexed_orders]
        for number in ["", *indexed, *(-number for number in indexed)]:
            _, statements = asked(operator_client, list_of(model, o=number))
            [keys] = [sql for sql in statements if sql.endswith("LIMIT 50")] or [None]
            if keys is not None:  # else the list is empty
                with connection.cursor() as cursor:
                    cursor.execute(f"EXPLAIN QUERY PLAN {keys}")
                    assert not any(SORTS.search(row[3]) for row in cursor.fetchall()), (model, number)


def test_another_order_waits_until_the_list_is_short(operator_client, monkeypatch):
    monkeypatch.setattr(listing, "MAX_SORTED_ROWS", 5)
    rows.make(0, 6)
    for number, release in enumerate(Release.objects.order_by("pk")):
        Release.objects.filter(pk=release.pk).update(size=1 + number % 3)
    size = 8  # the column's number

    def shown(**query):
        page, _ = asked(operator_client, list_of(Release, o=size, **query))
        said = [str(message) for message in messages.get_messages(page.wsgi_request)]
        return [release.size for release in page.context["cl"].result_list], said, page

    sizes, _, page = shown()
    assert "More than 5 rows are not sorted by this column: filter or search first." in page.text
    assert sizes == [3, 2, 1, 3, 2, 1]  # the newest first
    sizes, _, page = shown(person="person4")
    assert "are not sorted" not in page.text
    assert sizes == [2]
    monkeypatch.setattr(listing, "MAX_SORTED_ROWS", 6)
    assert shown()[0] == [1, 1, 2, 2, 3, 3]


@pytest.mark.slow
@for_each_row(
    ("model", "query"),
    [
        (Release, {"state__exact": "published"}),
        (Release, {"q": "1.0.0"}),
        (ModuleVersion, {"release__lifecycle__exact": "maintained"}),
        (SearchDoc, {"is_listed__exact": "1"}),
        (SearchDoc, {"kind__exact": "module", "o": "8"}),
        (AuditEvent, {"kind__exact": "namespace:namespace:created"}),
    ],
)
def test_what_most_rows_match_is_found_in_the_order_of_the_list(operator_client, two_pages, monkeypatch, model, query):
    """SQLite would take the index of the filter, and sort every row to show fifty."""
    page, _ = asked(operator_client, list_of(model, **query))
    few = [row.pk for row in page.context["cl"].result_list]
    monkeypatch.setattr(listing, "MAX_SORTED_ROWS", 0)
    page, statements = asked(operator_client, list_of(model, **query))
    [keys] = [sql for sql in statements if sql.endswith("LIMIT 50")]

    assert [row.pk for row in page.context["cl"].result_list] == few != []
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {keys}")
        plan = [row[3] for row in cursor.fetchall()]
    assert not any(SORTS.search(step) for step in plan), plan
