"""Large tables are never counted to their end."""

import re
from datetime import UTC, datetime

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.admin_base import counting, listing
from apps.audit.models import AuditEvent
from apps.blobs.models import Blob
from apps.modules.models import ModuleVersion
from apps.releases.models import Release
from tests.admin import rows
from tests.admin.lists import list_of

COUNTS = re.compile(r"\s*SELECT (?:\(SELECT )?COUNT\(", re.IGNORECASE)
DATES = re.compile(r'<nav class="toplinks[^>]*>(.*?)</nav>', re.DOTALL)
BOUND = re.compile(rf"LIMIT (?:{counting.MAX_COUNTED_ROWS + 1}|{listing.MAX_SORTED_ROWS + 1})\b")


def counted(client, url):
    """The statements with which a page counts rows."""
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url).status_code == 200
    return [query["sql"] for query in queries if COUNTS.match(query["sql"])]


@pytest.mark.both
def test_every_list_and_the_dashboard_stop_counting_at_10000(operator_client):
    rows.make(0, 2)
    for model in rows.LISTED:
        for query in ({}, {"_facets": "True"}, {"q": "team1"}):
            statements = counted(operator_client, list_of(model, **query))
            assert statements, model
            assert [sql for sql in statements if not BOUND.search(sql)] == [], (model, query)
            assert len(statements) == 1 or "q" not in query, "a search is evaluated for its count once"
    statements = counted(operator_client, reverse("admin:index"))
    assert len(statements) == 3  # all tiles in one, what needs attention in one, and the workers
    assert sum(sql.count("COUNT(") for sql in statements) == sum(len(BOUND.findall(sql)) for sql in statements) > 10


def test_what_is_not_counted_is_said_to_be_more(operator_client, monkeypatch):
    monkeypatch.setattr(counting, "MAX_COUNTED_ROWS", 60)
    AuditEvent.objects.bulk_create(AuditEvent(kind="operation:job:retried", subject=f"job {n}") for n in range(200))
    page = operator_client.get(list_of(AuditEvent))

    assert "60+ audit events" in page.text
    assert page.context["cl"].paginator.num_pages == 2


def test_no_registered_list_has_another_paginator():
    for model, model_admin in admin.site._registry.items():
        assert model_admin.paginator is counting.BoundedPaginator, model
        assert model_admin.show_full_result_count is False


@pytest.mark.both
def test_the_dates_above_a_list_are_those_from_the_oldest_to_the_newest_row(operator_client):
    rows.make(0, 3)
    assert "3 namespaces" in operator_client.get(reverse("admin:accounts_namespace_changelist")).text
    moments = [
        datetime(2024, 11, 30, 23, tzinfo=UTC),
        datetime(2025, 2, 1, tzinfo=UTC),
        datetime(2026, 1, 5, tzinfo=UTC),
    ]
    for release, moment in zip(Release.objects.all(), moments, strict=True):
        Release.objects.filter(pk=release.pk).update(created_at=moment, published_at=moment)

    def dates(model, **query):
        with CaptureQueriesContext(connection) as queries:
            page = operator_client.get(list_of(model, **query)).text
        assert [query["sql"] for query in queries if "DISTINCT" in query["sql"] and "_at" in query["sql"]] == []
        return re.findall(r">([^<]*)</a>", DATES.findall(page)[0])

    assert dates(Release) == ["2024", "2025", "2026"]
    assert dates(Release, created_at__year=2024) == ["← All dates", "November 2024", "December 2024"]
    days = dates(ModuleVersion, release__published_at__year=2026, release__published_at__month=1)
    assert days == ["← 2026", *(f"January {number}" for number in range(1, 6))]
    Release.objects.update(created_at=moments[2])
    assert dates(Release) == ["← 2026", "January 5"]
    Blob.objects.all().delete()
    assert dates(Blob) == []
