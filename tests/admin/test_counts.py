"""Large tables are never counted to their end."""

import re

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.admin_base import counting
from apps.audit.models import AuditEvent
from tests.admin import rows
from tests.admin.lists import list_of

pytestmark = pytest.mark.both

COUNTS = re.compile(r"\s*SELECT COUNT\(", re.IGNORECASE)
BOUND = f"LIMIT {counting.MAX_COUNTED_ROWS + 1}"


def counted(client, url):
    """The statements with which a page counts rows."""
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url).status_code == 200
    return [query["sql"] for query in queries if COUNTS.match(query["sql"])]


@pytest.mark.parametrize("query", [{}, {"_facets": "True"}, {"q": "team1"}], ids=["all", "facets", "search"])
def test_every_list_stops_counting_at_10000(operator_client, query):
    rows.make(0, 2)
    for model in rows.LISTED:
        statements = counted(operator_client, list_of(model, **query))
        assert statements, model
        assert [sql for sql in statements if BOUND not in sql] == [], model


def test_the_dashboard_stops_counting_too(operator_client):
    rows.make(0, 2)
    statements = counted(operator_client, reverse("admin:index"))

    assert len(statements) > 10
    assert [sql for sql in statements if BOUND not in sql] == []


def test_what_is_not_counted_is_said_to_be_more(operator_client, monkeypatch):
    monkeypatch.setattr(counting, "MAX_COUNTED_ROWS", 60)
    AuditEvent.objects.bulk_create(AuditEvent(kind="operation:job:retried", subject=f"job {n}") for n in range(200))
    page = operator_client.get(list_of(AuditEvent))

    assert "60+ audit events" in page.text
    assert page.context["cl"].paginator.num_pages == 2


def test_a_list_that_is_short_says_how_short(operator_client):
    rows.make(0, 3)
    assert "3 namespaces" in operator_client.get(reverse("admin:accounts_namespace_changelist")).text


def test_no_registered_list_has_another_paginator():
    for model, model_admin in admin.site._registry.items():
        assert model_admin.paginator is counting.BoundedPaginator, model
        assert model_admin.show_full_result_count is False
