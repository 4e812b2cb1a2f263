"""Rows as CSV: chosen ones, or everything that the filters leave."""

import csv
import io

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import ApiToken, Namespace
from apps.admin_base.export import cell
from apps.modules.models import ModuleVersion
from apps.releases.models import Release
from tests.admin import rows
from tests.admin.lists import ask, chosen, list_of


def export(client, model, *rows, everything=False, **query):
    """The parsed lines and the answer."""
    form = chosen("export_csv", *rows) | ({"select_across": "1"} if everything else {})
    answer = client.post(list_of(model, **query), form)
    text = b"".join(answer.streaming_content).decode()
    return list(csv.reader(io.StringIO(text))), answer


def test_the_chosen_rows_are_written_with_names_for_people_and_without_secrets(operator_client):
    rows.make(0, 5)
    token = ApiToken.objects.first()
    assert token is not None
    Namespace.objects.update(description="=HYPERLINK(0)")
    (names, line), _ = export(operator_client, Namespace, Namespace.objects.first())
    assert line[names.index("description")] == "'=HYPERLINK(0)"
    (_, line), _ = export(operator_client, ApiToken, token)
    assert token.digest not in line
    two = Release.objects.order_by("pk")[:2]
    (head, *lines), answer = export(operator_client, Release, *two)

    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].startswith('attachment; filename="larder-release-20')
    assert head[:3] == ["namespace name", "name", "version"]
    assert sorted(line[:3] for line in lines) == [["team0", "vpc/aws", "1.0.0"], ["team1", "vpc/aws", "1.0.0"]]


@pytest.mark.both
def test_select_all_writes_what_the_filters_leave_beyond_the_page(operator_client):
    rows.make(0, 60)
    Release.objects.filter(version="1.0.0", namespace__name__in=["team3", "team4"]).update(state="rejected")
    first = Release.objects.filter(state="published").first()
    (_, *lines), _ = export(operator_client, Release, first, everything=True, state__exact="published")

    assert len(lines) == 58
    assert {line[0] for line in lines}.isdisjoint({"team3", "team4"})


def test_many_rows_take_one_query_more_than_none(operator_client):
    rows.make(0, 120)
    with CaptureQueriesContext(connection) as queries:
        (_, *lines), _ = export(operator_client, ModuleVersion, ModuleVersion.objects.first(), everything=True)

    assert len(lines) == 120
    reading = [query["sql"] for query in queries if "releases_release" in query["sql"] and "COUNT" not in query["sql"]]
    assert len(reading) <= 2, "the page's own rows, and those of the file"


def test_a_spreadsheet_runs_nothing_and_numbers_and_gaps_stay_plain():
    for start in ("=", "+", "-", "@", "\t", "\r"):
        assert cell(f"{start}HYPERLINK(0)").startswith(f"'{start}")
    assert [cell(value) for value in (-3, None, True, "1-2", {"a": 1})] == ["-3", "", "true", "1-2", '{"a": 1}']


def test_no_registered_list_forgets_its_columns():
    columns = {
        model.__name__: set(getattr(listed, "csv_columns", ())) for model, listed in admin.site._registry.items()
    }
    assert [name for name, named in columns.items() if not named] == []
    secret = {"password", "digest", "ticket_digest"}
    for name in ("ApiToken", "User", "Invitation"):
        assert not secret & columns[name]


def test_who_may_not_view_exports_nothing(browser_of, bob):
    rows.make(0, 1)
    bob.is_staff = True
    bob.save()

    assert ask(browser_of(bob), "export_csv", Release.objects.get()).status_code == 403
