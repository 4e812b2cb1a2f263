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

from apps.admin_base import counting, listing
from registry_site.backends.database import give_up_connections
from tests import rooms
from tests.cast import BLOBS
from tests.house import scenario
from tests.house.policy.table import ROUTES, TABLES, kind_of
from tests.house.scans import declared, plans, tables
from tests.house.scans.declared import QUERIES, SEARCHES
from tests.rows import undone
from tests.turns import in_turn

ON_POSTGRES = pytest.mark.skipif(
    settings.TEST_DATABASE != "postgres", reason="SQLite plans otherwise, and tests/admin/test_plans.py reads its plans"
)
pytestmark = [pytest.mark.both, pytest.mark.matrix, pytest.mark.timeout(1200)]
ASKED = sorted(name for name in TABLES if "GET" in TABLES[name])
EDGES = sorted({name.rpartition(":")[0] for name in ASKED})  # none: sign-in, health
PAGES = list(admin.site._registry.values())
DAYS = 4  # in which each has its turn
BY_DESIGN = declared.BY_DESIGN | rooms.rows("BY_DESIGN")


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


@pytest.fixture(autouse=True)
def short_limits(monkeypatch):
    """What a list counts and sorts at most is to these tables what it is to millions of rows."""
    monkeypatch.setattr(counting, "MAX_COUNTED_ROWS", tables.ROWS // 100)
    monkeypatch.setattr(listing, "MAX_SORTED_ROWS", tables.ROWS // 50)


# What PostgreSQL said of a query: every page asks for the session and the person again.
KNOWN: dict[str, list[str]] = {}
# The row of a route or of an admin that is asked: a query string, a filter and its choice, `form`, or nothing.
Asked = dict[str, str]


def read_whole(clients: dict[str, Any], urls: Asked) -> dict[tuple[str, str], str]:
    """{(row, table): who read it from end to end, by which query}."""
    found: dict[tuple[str, str], str] = {}
    large = plans.growing()
    for who, client in clients.items():
        for row, url in urls.items():
            with plans.asked() as queries:
                answer = client.get(url)
                list(getattr(answer, "streaming_content", []))
            assert answer.status_code < 500, (who, url)
            for query in queries:
                key = repr(query)
                if key not in KNOWN:
                    KNOWN[key] = plans.scans_of(query, large)
                for scan in KNOWN[key]:
                    found[row, scan.partition(",")[0].split()[-1]] = f"{scan} for {who}, {url}: {query[0]}"[:3000]
    return found


def urls_of(scene: Any, name: str) -> Asked:
    """The route in a private namespace, or where it names none; with each of its queries."""
    row = "any" if "any" in TABLES[name]["GET"] else "private"
    url = scenario.version_for(name, "GET", scene.url(ROUTES[name], row))
    return {"": url} | {query: f"{url}{'&' if '?' in url else '?'}{query}" for query in QUERIES.get(name, ())}


def require_declared(name: str, found: dict[tuple[str, str], str]) -> None:
    """What is read whole is declared, and what is declared is read whole: a repair takes its exemption with it."""
    declared = {(row, table) for of, row, table in BY_DESIGN if of == name}
    assert {key: asked for key, asked in found.items() if key not in declared} == {}
    assert declared - found.keys() == set(), "nothing reads these whole any more: remove them from declared.py"


def test_every_table_grows_or_says_why_it_does_not():
    assert set(tables.tables()) == set(tables.GROWING) | set(tables.SMALL), "declare the table in scans/tables.py"
    assert set(tables.GROWING) & set(tables.SMALL) == set()


def test_every_exemption_is_of_a_route_or_a_model():
    """Those that name a row are used, or `require_declared` fails."""
    assert {name for name, _, _ in BY_DESIGN} <= {*ASKED, *(page.model._meta.label for page in PAGES)}


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
@pytest.mark.parametrize("edge", in_turn(EDGES, DAYS))
def test_no_route_reads_a_growing_table_whole(scene, client_of, subtests, edge):
    for name in (name for name in ASKED if name.rpartition(":")[0] == edge):
        people = ("nobody", "dora-manage", "olga-manage") if kind_of(name) == "token" else ("nobody", "dora", "olga")
        with subtests.test(name), undone():
            require_declared(name, read_whole({who: client_of(who) for who in people}, urls_of(scene, name)))


def admin_urls(page: Any, olga: Any) -> Asked:
    """The list in each order, its searches, each link that its filters offer, and the form of a row."""
    of = f"{page.opts.app_label}_{page.opts.model_name}"
    url = reverse(f"admin:{of}_changelist")
    queries = ["", "p=2"]
    queries += [f"o={sign}{number}" for number in range(1, len(page.list_display) + 1) for sign in ("", "-")]
    queries += [f"q={quote(word)}" for word in SEARCHES if page.search_fields]
    changes = olga.get(url).context["cl"]
    choices = [(spec.title, choice) for spec in changes.filter_specs for choice in spec.choices(changes)]
    links = {f"{title}: {each['display']}": each["query_string"] for title, each in choices if "query_string" in each}
    first = page.model._default_manager.order_by("pk").first()  # of the scene: a whole one
    form = {} if first is None else {"form": reverse(f"admin:{of}_change", args=[first.pk])}
    return {query: f"{url}?{query}" for query in queries} | {row: url + link for row, link in links.items()} | form


@ON_POSTGRES
@pytest.mark.parametrize("room", in_turn(sorted({page.opts.app_label for page in PAGES}), DAYS))
def test_no_page_of_the_admin_reads_a_growing_table_whole(scene, client_of, subtests, room):
    olga = client_of("olga")
    for page in (page for page in PAGES if page.opts.app_label == room):
        label = page.model._meta.label
        with subtests.test(label), undone():
            require_declared(label, read_whole({"olga": olga}, admin_urls(page, olga)))


@ON_POSTGRES
def test_the_first_pages_of_the_admin_read_no_growing_table_whole(scene, client_of):
    urls = {"index": reverse("admin:index"), "releases": reverse("admin:app_list", args=["releases"])}
    client_of("olga").get(urls["index"])  # the chart of storage is remembered for an hour
    assert read_whole({"olga": client_of("olga")}, urls) == {}


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
