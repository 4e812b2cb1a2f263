"""Lists, searches and admin pages of a large registry: queries, processor time, and tables that a query reads whole.

`answers` runs inside a Larder (`manage.py shell`), with Django's test client: no network, no other process. It counts
processor time, of this process and of a PostgreSQL on this machine, since a busy machine makes every wall time long.
"""

import json
import re
import time
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from bench.larder import TINY_LISTS, Bench, Size, start
from bench.processor import Processor
from bench.report import Figure
from tests import postgres, rooms

MANY_ROWS = 5_000
WANTED_MS, WANTED_QUERIES = 60, 12
# By who asks. `{n}` is another number each time, `{id}` one more. Rooms add theirs (tests/seeding.py).
PATHS = {
    "anybody": (
        "/v1/modules/bench/of-100/local/versions",
        "/v1/modules/team{n}/module-{n}/{system}/versions",
        "/v1/modules/team{n}/module-{n}/{system}/1.0.0/download",
        "/v1/modules/team{n}/module-{n}/{system}",
        "/v1/modules/team{n}/module-{n}",
        "/v1/modules/team{n}",
        "/v1/modules?limit=100",
        "/v1/modules?offset=5000",
        "/v1/modules/search?q=needle",
        "/v1/modules/search?q=network",
        "/v1/modules/search?q=module-{n}",
        "/v1/providers/team{n}/provider-{n}/versions",
        "/v1/providers/team{n}/provider-{n}/1.0.0/download/linux/amd64",
        "/v1/mirror/{host}/team{n}/provider-{n}/index.json",
        "/v1/mirror/{host}/team{n}/provider-{n}/1.0.0.json",
        "/",
        "/modules",
        "/modules?q=needle",
        "/modules?q=network",
        "/modules?q=some&system=aws&sort=downloads",
        "/modules?sort=updated&page=100",
        "/providers",
        "/providers?q=provider-{n}",
        "/namespaces/team{n}",
        "/namespaces/team{n}/usage",
        "/modules/team{n}/module-{n}/{system}",
        "/modules/team{n}/module-{n}/{system}/versions",
        "/modules/bench/of-1000/local/versions",
        "/modules/team{n}/module-{n}/{system}/downloads",
        "/modules/team{n}/module-{n}/{system}/1.0.0/dependencies",
        "/providers/team{n}/provider-{n}",
        "/providers/team{n}/provider-{n}/versions",
    ),
    "member": (
        "/modules",
        "/modules?q=network",
        "/modules?q=aws",
        "/modules?q=n",
        "/modules?q=needle",
    ),
    "admin": (
        "/",
        "/modules",
        "/modules?q=network",
        "/releases",
        "/releases?state=published",
        "/publish",
        "/tokens",
        "/teams",
        "/v2/team{n}/module-{n}/{system}/tags/list",
        "/v2/team{n}/module-{n}/{system}/manifests/latest",
        "/admin/",
        "/namespaces/team{n}",
        "/namespaces/team{n}/activity",
        "/account/activity",
        "/modules/team{n}/module-{n}/{system}",
        "/modules/team{n}/module-{n}/{system}/1.0.0/dependencies",
        "/namespaces",
        "/search?q=network",
    ),
    "api": (
        "/api/v1/audit",
        "/api/v1/audit?kind=namespace:release:yanked",
        "/api/v1/audit?person=robot[bot]",
        "/api/v1/audit?person=person-1",
        "/api/v1/audit?since=2026-01-01&until=2026-02-01",
        "/api/v1/namespaces/team{n}/audit",
        "/api/v1/namespaces/team{n}/releases",
        "/api/v1/namespaces",
        "/api/v1/releases",
        "/api/v1/modules",
        "/api/v1/providers",
        "/api/v1/search?q=network",
        "/api/v1/jobs",
        "/api/v1/users",
        "/api/v1/modules/team{n}/module-{n}/{system}/versions",
        "/api/v1/modules/team{n}/module-{n}/{system}/dependents",
        "/api/v1/modules/team{n}/module-{n}/{system}/outdated",
        "/api/v1/modules/team{n}/module-{n}/{system}/downloads",
    ),
}
# Asked of every admin list that has a search box: an address, its beginning, a namespace, a version, a digest, nothing.
WORDS = ("team1/module-1/azurerm", "team1/provider-1", "module-1", "team1", "1.0.0", "0a1b2c3d", "nowhere")
ADMIN_QUERIES = {
    "releases_release": ("state__exact=published", "in=team1", "kind__exact=provider"),
    "modules_moduleversion": ("in=team1", "is_prerelease__exact=1"),
    "modules_module": ("in=team1",),
    "providers_package": ("os=linux", "in=team1", "q=linux_amd64", "q=terraform-provider-provider-1_1.0.0"),
    "audit_auditevent": (
        "kind__exact=namespace:release:published",
        "person=admin",
        "person=person-1",
        "person=person-1&kind__exact=account:token:issued",
    ),
}
_PARTITION = re.compile(r"_([0-9]{4}_[0-9]{2}|default)$")  # of the audit
LEAST_ROUNDS, MOST_SECONDS = 4, 1  # for one path: a slow page is not asked ten times


def measure(bench: Bench) -> Iterator[Figure]:
    """On PostgreSQL, with its safety off: what is measured reads."""
    if bench.lacks("lists", "postgres"):
        return
    size = TINY_LISTS if bench.is_tiny else Size.of_versions(bench.listed_versions)
    rounds = 1 if bench.is_tiny else 10
    folder = bench.seeded.with_name(f"{bench.seeded.name}-lists")
    url = bench.database or postgres.start()
    with start(folder, tls=False, size=size, processes=1, LARDER_DATABASE_URL=url) as live:
        said = live.manage("shell", "-v", "0", "-c", f"from bench import lists; lists.answers({rounds})")
    pages = json.loads(said.splitlines()[-1])
    for one in pages:
        cost = f"{one['queries']} queries" + (f", reads all of {' and '.join(one['scans'])}" if one["scans"] else "")
        work = f"{one['path']} ({one['who']}): {cost}"
        work += "" if one["status"] == HTTPStatus.OK else f", status {one['status']}"
        is_well = one["p95"] <= WANTED_MS and one["queries"] <= WANTED_QUERIES and not one["scans"]
        is_well = is_well and one["status"] == HTTPStatus.OK
        yield Figure(work, [one["p95"]], "ms", wanted="<= 60", p50=[one["median"]], note=one, is_detail=is_well)
    yield Figure(
        f"p95 of the processor time of {len(pages)} lists and pages (those above 60 ms are named)",
        [p["p95"] for p in pages],
        "ms",
    )


def answers(rounds: int) -> None:
    """Print what each path costs, as JSON."""
    from django.contrib import admin
    from django.test import Client

    from apps.accounts.access.gate import Viewer
    from apps.accounts.identity import tokens
    from apps.accounts.models import Scope, User
    from bench import seeding

    seeding.add_member()
    # A page that takes longer than a query may answers 503: a figure, not the end of the run.
    who = {name: Client(raise_request_exception=False) for name in ("anybody", "member", "admin", "api")}
    for name in ("member", "admin"):
        who[name].force_login(User.objects.get(username=name))
    admin_user = User.objects.get(username="admin")
    _, secret = tokens.issue(user=admin_user, label="lists", scope=Scope.MANAGE, actor=Viewer(admin_user))
    who["api"].defaults["HTTP_AUTHORIZATION"] = f"Bearer {secret}"
    large, read = large_tables(), Processor()
    paths = {name: list(found) for name, found in PATHS.items()}
    for room in rooms.modules("seeding"):
        for name, more in room.PATHS.items():
            paths[name] += more
    for model, page in admin.site._registry.items():  # noqa: SLF001  # there is no other list of them
        paths["admin"] += _admin_paths(page, is_large=model._meta.db_table in large)  # noqa: SLF001
    found = [
        {"who": name, "path": path} | _asked(client, path, rounds, large, read)
        for name, client in who.items()
        for path in paths[name][:: 1 if rounds > 1 else 10]
    ]
    print(json.dumps(found))


def _admin_paths(page: Any, *, is_large: bool) -> Iterator[str]:
    """The list; where the table is large, also each search and each order."""
    label = f"{page.opts.app_label}_{page.opts.model_name}"
    path = "/admin/" + label.replace("_", "/", 1) + "/"
    queries = [*ADMIN_QUERIES.get(label, ()), *(f"q={word}" for word in WORDS if page.search_fields)]
    columns = range(1, len(page.list_display) + 1)
    queries += [*(f"o={sign}{number}" for number in columns for sign in ("", "-")), "p=100"]
    yield path
    for query in queries if is_large else queries[:1]:
        yield f"{path}?{query}"


def _asked(client: Any, path: str, rounds: int, large: dict[str, int], read: Processor) -> dict[str, Any]:
    from django.conf import settings
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def ask(number: int) -> Any:
        system = ("aws", "azurerm", "google")[number % 3]
        url = path.format(n=number % 3, id=number % 3 + 1, system=system, host=min(settings.HOSTNAMES))
        return client.get(url, headers={"Host": settings.PUBLIC_HOST}, secure=True)

    connection.queries_log.clear()  # it keeps 9,000 queries, and a full one captures nothing
    with CaptureQueriesContext(connection) as captured:  # not measured: it fills caches, and capturing takes time
        answer = ask(0)
    queries = captured.captured_queries
    times: list[float] = []
    walls: list[float] = []
    while len(times) < rounds and (len(times) < LEAST_ROUNDS or sum(walls) < 1e3 * MOST_SECONDS):
        began, spent = time.perf_counter(), read.milliseconds()
        answer = ask(len(times) + 1)
        times.append(read.milliseconds() - spent)
        walls.append(1e3 * (time.perf_counter() - began))
    return {
        "status": answer.status_code,
        "queries": len(queries),
        "scans": sorted({scan for query in queries for scan in scans(query["sql"], large)}),
        "p95": _p95(times),
        "median": sorted(times)[len(times) // 2],
        "wall p95": _p95(walls),
        "slowest": max(queries, key=lambda query: float(query["time"]), default={"time": "0", "sql": ""}),
    }


def _p95(times: list[float]) -> float:
    return sorted(times)[max(0, len(times) * 19 // 20 - 1)]


def large_tables() -> dict[str, int]:
    """Return the tables with MANY_ROWS, each partition as one."""
    from django.apps import apps
    from django.db import connection

    tables = {model._meta.db_table for model in apps.get_models()}  # noqa: SLF001
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE relkind = 'r'"
            )
            tables |= {row[0] for row in cursor.fetchall()}
        counts = {}
        for table in tables:
            cursor.execute(f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} LIMIT {MANY_ROWS}) AS counted")  # noqa: S608
            counts[table] = cursor.fetchone()[0]
    return {table: count for table, count in counts.items() if count >= MANY_ROWS}


def scans(sql: str, large: dict[str, int], *, is_ended_early: bool = True) -> Iterator[str]:
    """Yield what the query reads whole: a table, or an index from end to end without a LIMIT that may end it early."""
    from django.db import connection

    if not sql.startswith(("SELECT", "WITH")):
        return
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            lines = [row[3] for row in cursor.fetchall()]
            # By the key itself; `admin_base.listing` writes a condition that most rows meet as CASE.
            in_order = ("WHERE" not in sql or "WHERE CASE WHEN" in sql) and "USE TEMP B-TREE FOR ORDER BY" not in lines
            for line in lines:
                if not (words := re.fullmatch(r"SCAN (\S+)( USING .*)?", line)):
                    continue
                table = words[1]
                if table not in large:
                    aliased = re.search(rf'"?(\w+)"? (?:AS )?"?{re.escape(table)}"?\b', sql)
                    table = aliased[1] if aliased and aliased[1] not in ("FROM", "JOIN", "AS") else table
                if table in large and not (is_ended_early and "LIMIT" in sql and (words[2] or in_order)):
                    yield line.replace(words[1], table)
        else:
            cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
            plan: Any = cursor.fetchone()[0]
            yield from _nodes((plan if isinstance(plan, list) else json.loads(plan))[0]["Plan"], large)


def _nodes(plan: dict[str, Any], large: dict[str, int], *, is_ended_early: bool = False) -> Iterator[str]:
    """A LIMIT ends what is read without a condition, unless something between them needs all rows."""
    table = plan.get("Relation Name", "")
    if plan["Node Type"] == "Seq Scan" and table in large and not (is_ended_early and "Filter" not in plan):
        yield f"Seq Scan {_PARTITION.sub('', table)}"
    passes_on = plan["Node Type"] in ("Append", "Subquery Scan", "Result", "ProjectSet")
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner, large, is_ended_early=plan["Node Type"] == "Limit" or (passes_on and is_ended_early))
