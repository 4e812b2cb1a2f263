"""No page and no list reads a table that grows from end to end: all that people and staff can open is asked of a large
registry, and PostgreSQL says what each query has read.

A sequential scan is fast in every other test, since tables there have ten rows.
"""

import shutil
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.contrib import admin
from django.db import connection, transaction
from django.urls import reverse

from registry_site.backends.database import give_up_connections
from tests.conftest import BLOBS
from tests.house import scenario
from tests.house.policy.table import ROUTES, TABLES, kind_of
from tests.house.scans import plans, tables
from tests.house.scans.declared import BY_DESIGN, QUERIES, SEARCHES

ON_POSTGRES = pytest.mark.skipif(
    settings.TEST_DATABASE != "postgres", reason="SQLite plans otherwise, and tests/admin/test_plans.py reads its plans"
)
pytestmark = [pytest.mark.both, pytest.mark.matrix]


def _database(name: str, *, template: str = "") -> None:
    """Remove the database, or make it as a copy."""
    with connection._nodb_cursor() as cursor:  # Django's own way to another database of the server
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}"')
        if template:
            cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')


def _connect(name: str) -> None:
    connection.close()
    give_up_connections()  # a pool is one database's
    connection.settings_dict["NAME"] = name


@pytest.fixture(scope="module")
def shared_scene(django_db_setup, django_db_blocker):
    """The scene of the other house tests in a database of its own, beside as many rows as a large registry has."""
    if settings.TEST_DATABASE != "postgres":
        pytest.skip("SQLite")
    shutil.rmtree(BLOBS, ignore_errors=True)
    small = connection.settings_dict["NAME"]
    large = f"{small}_large"
    with django_db_blocker.unblock():
        _connect(small)
        _database(large, template=small)
        try:
            _connect(large)
            tables.fill()
            outer: Any = transaction.atomic()
            outer._from_testcase = True  # as tests/house/conftest.py
            with outer:
                yield scenario.build()
                transaction.set_rollback(True)
        finally:
            _connect(small)
            _database(large)


def read_whole(clients: dict[str, Any], urls: list[str]) -> dict[str, list[str]]:
    """{scan: who asks what and by which query}."""
    found: dict[str, set[str]] = {}
    large, known = plans.growing(), dict[str, list[str]]()
    for who, client in clients.items():
        for url in urls:
            with plans.asked() as queries:
                answer = client.get(url)
                list(getattr(answer, "streaming_content", []))
            assert answer.status_code < 500, (who, url)
            for query in queries:
                key = repr(query)
                if key not in known:
                    known[key] = plans.scans_of(query, large)
                for scan in known[key]:
                    found.setdefault(scan.partition(",")[0], set()).add(f"{who} {url}: {query[0]}"[:3000])
    return {scan: sorted(asked) for scan, asked in found.items()}


def urls_of(scene: Any, name: str) -> list[str]:
    """The route in a private namespace, or where it names none; with each of its queries."""
    row = "any" if "any" in TABLES[name]["GET"] else "private"
    url = scenario.version_for(name, "GET", scene.url(ROUTES[name], row))
    return [url, *(f"{url}{'&' if '?' in url else '?'}{query}" for query in QUERIES.get(name, ()))]


def test_every_table_grows_or_says_why_it_does_not():
    assert set(tables.tables()) == set(tables.GROWING) | set(tables.SMALL), "declare the table in scans/tables.py"
    assert set(tables.GROWING) & set(tables.SMALL) == set()


@ON_POSTGRES
def test_every_table_that_grows_is_large_here(scene):
    found = tables.tables()
    with connection.cursor() as cursor:
        counts = {}
        for label in tables.GROWING:
            cursor.execute(f"SELECT COUNT(*) FROM {found[label]._meta.db_table}")  # noqa: S608
            counts[label] = cursor.fetchone()[0]
    assert {label: count for label, count in counts.items() if count < tables.ROWS} == {}


@ON_POSTGRES
@pytest.mark.parametrize("name", sorted(name for name in TABLES if "GET" in TABLES[name]))
def test_no_route_reads_a_growing_table_whole(scene, client_of, name):
    people = ("nobody", "dora-manage", "olga-manage") if kind_of(name) == "token" else ("nobody", "dora", "olga")
    found = read_whole({who: client_of(who) for who in people}, urls_of(scene, name))
    assert {scan: asked for scan, asked in found.items() if (name, scan.split()[-1]) not in BY_DESIGN} == {}


def admin_urls(page: Any) -> list[str]:
    """The list in each order and by each filter's first choice, searches, the form, and what an autocomplete asks."""
    of = f"{page.opts.app_label}_{page.opts.model_name}"
    url = reverse(f"admin:{of}_changelist")
    queries = ["", "p=2"]
    queries += [f"o={sign}{number}" for number in range(1, len(page.list_display) + 1) for sign in ("", "-")]
    queries += [f"q={quote(word)}" for word in SEARCHES if page.search_fields]
    urls = [f"{url}?{query}" for query in queries]
    first = page.model._default_manager.order_by("pk").first()  # of the scene: a whole one
    return urls if first is None else [*urls, reverse(f"admin:{of}_change", args=[first.pk])]


@ON_POSTGRES
@pytest.mark.parametrize("label", sorted(model._meta.label for model in admin.site._registry))
def test_no_page_of_the_admin_reads_a_growing_table_whole(scene, client_of, label):
    page = next(page for model, page in admin.site._registry.items() if model._meta.label == label)
    found = read_whole({"olga": client_of("olga")}, admin_urls(page))
    assert {scan: asked for scan, asked in found.items() if (label, scan.split()[-1]) not in BY_DESIGN} == {}


@ON_POSTGRES
def test_no_filter_of_the_admin_reads_a_growing_table_whole(scene, client_of):
    """Each link that a list offers: the choices are there as staff see them."""
    found: dict[str, list[str]] = {}
    olga = client_of("olga")
    for model in admin.site._registry:
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        changes = olga.get(url).context["cl"]
        choices = [one for spec in changes.filter_specs for one in spec.choices(changes)]
        queries = {str(one["query_string"]) for one in choices if "query_string" in one}  # not of a field for words
        scans = read_whole({"olga": olga}, [url + query for query in sorted(queries)])
        label = model._meta.label
        found |= {f"{label} {scan}": urls for scan, urls in scans.items() if (label, scan.split()[-1]) not in BY_DESIGN}
    assert found == {}


@ON_POSTGRES
def test_the_first_pages_of_the_admin_read_no_growing_table_whole(scene, client_of):
    assert (
        read_whole({"olga": client_of("olga")}, [reverse("admin:index"), reverse("admin:app_list", args=["releases"])])
        == {}
    )


@ON_POSTGRES
def test_a_query_that_an_or_robs_of_its_index_is_found(scene):
    """The one that this was written for: what waits for the viewer, on every page of whoever is signed in."""
    slow = (
        "SELECT state FROM releases_release WHERE id IN (SELECT id FROM releases_release WHERE state = 'held' AND "
        "created_by_id = %s) OR (state = 'awaiting-approval' AND namespace_id = %s)"
    )
    assert plans.scans_of((slow, [1, 1]), plans.growing()) == [f"Seq Scan releases_release, {_count()} rows"]


def _count() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM releases_release")
        return int(cursor.fetchone()[0])
