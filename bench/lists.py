"""Lists, searches and admin pages of a large registry: queries, server time, and the tables that a query reads whole.

`answers` runs inside a Larder (`manage.py shell`), with Django's test client: no network, no other process.
"""

import json
import re
import time
from collections.abc import Iterator
from typing import Any

from bench.larder import Bench
from bench.report import Figure

MANY_ROWS = 5_000
WANTED_MS, WANTED_QUERIES = 60, 12
# By who asks. `{n}` is another number each time.
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
        "/providers/127.0.0.1/team{n}/provider-{n}/index.json",
        "/providers/127.0.0.1/team{n}/provider-{n}/1.0.0.json",
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
    "admin": (
        "/",
        "/modules",
        "/modules?q=network",
        "/releases",
        "/releases?state=published",
        "/publish",
        "/tokens",
        "/teams",
        "/v2/_catalog",
        "/v2/team{n}/module-{n}/{system}/tags/list",
        "/v2/team{n}/module-{n}/{system}/manifests/latest",
        "/admin/",
    ),
}
ADMIN_QUERIES = {
    "releases_release": ("q=team1/module-1", "state__exact=published", "q=0a1b2c3d", "o=8", "p=100"),
    "modules_moduleversion": ("q=team1/module-1", "q=0a1b2c3d", "p=100"),
    "modules_module": ("q=module-1",),
    "providers_providerversion": ("q=team1/provider-1",),
    "audit_auditevent": ("q=team1/module-1", "kind__exact=namespace:release:published"),
    "releases_searchdoc": ("q=module-1",),
}


def measure(bench: Bench) -> Iterator[Figure]:
    live = bench.larder(is_seeded=True, tls=False)
    rounds = 1 if bench.is_tiny else 20
    said = live.manage("shell", "-v", "0", "-c", f"from bench import lists; lists.answers({rounds})")
    pages = json.loads(said.splitlines()[-1])
    for one in pages:
        cost = f"{one['queries']} queries" + (f", reads all of {' and '.join(one['scans'])}" if one["scans"] else "")
        work = f"{one['path']} ({one['who']}): {cost}"
        is_well = one["p95"] <= WANTED_MS and one["queries"] <= WANTED_QUERIES and not one["scans"]
        yield Figure(work, [one["p95"]], "ms", wanted="<= 60", p50=[one["median"]], note=one, is_detail=is_well)
    yield Figure(f"p95 of {len(pages)} lists and pages (those above 60 ms are named)", [p["p95"] for p in pages], "ms")


def answers(rounds: int) -> None:
    """Print what each path costs, as JSON."""
    from django.conf import settings
    from django.contrib import admin
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from apps.accounts.models import User

    who = {"anybody": Client(), "admin": Client()}
    who["admin"].force_login(User.objects.get(username="admin"))
    paths = {name: list(found) for name, found in PATHS.items()}
    for model in admin.site._registry:  # noqa: SLF001  # there is no other list of them
        label = f"{model._meta.app_label}_{model._meta.model_name}"  # noqa: SLF001
        page = "/admin/" + label.replace("_", "/", 1) + "/"
        paths["admin"] += [page, *(f"{page}?{query}" for query in ADMIN_QUERIES.get(label, ()))]
    large, found = _large_tables(), []
    for name, client in who.items():
        for path in paths[name][:: 1 if rounds > 1 else 10]:
            times: list[float] = []
            queries: list[dict[str, str]] = []
            for n in range(rounds + 1):
                url = path.format(n=n % 3, system=("aws", "azurerm", "google")[n % 3])
                with CaptureQueriesContext(connection) as captured:
                    started = time.perf_counter()
                    answer = client.get(url, headers={"Host": settings.PUBLIC_HOST}, secure=True)
                    _ = answer.content
                    times.append(1e3 * (time.perf_counter() - started))
                queries = captured.captured_queries
            scans = sorted({scan for query in queries for scan in _scans(query["sql"], large)})
            slowest = max(queries, key=lambda query: float(query["time"]), default={"time": "0", "sql": ""})
            found.append(
                {"who": name, "path": path, "status": answer.status_code, "queries": len(queries), "scans": scans}
                | {"p95": sorted(times[1:])[max(0, rounds * 19 // 20 - 1)], "median": sorted(times[1:])[rounds // 2]}
                | {"slowest": slowest}
            )
    print(json.dumps(found))


def _large_tables() -> dict[str, int]:
    from django.apps import apps
    from django.db import connection

    counts = {}
    with connection.cursor() as cursor:
        for model in apps.get_models():
            cursor.execute(f"SELECT COUNT(*) FROM {model._meta.db_table}")  # noqa: S608, SLF001
            counts[model._meta.db_table] = cursor.fetchone()[0]  # noqa: SLF001
    return {table: count for table, count in counts.items() if count >= MANY_ROWS}


def _scans(sql: str, large: dict[str, int]) -> Iterator[str]:
    """What the query reads whole: a table, or an index from end to end without a LIMIT that would end it early."""
    from django.db import connection

    if not sql.startswith(("SELECT", "WITH")):
        return
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            for line in [row[3] for row in cursor.fetchall()]:
                if not (words := re.fullmatch(r"SCAN (\S+)( USING .*)?", line)):
                    continue
                table = _aliased(words[1], sql)
                if table in large and not (words[2] and "LIMIT" in sql):
                    yield line.replace(words[1], table)
        else:
            cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
            plan: Any = cursor.fetchone()[0]
            yield from _nodes((plan if isinstance(plan, list) else json.loads(plan))[0]["Plan"], large)


def _nodes(plan: dict[str, Any], large: dict[str, int]) -> Iterator[str]:
    if plan["Node Type"] == "Seq Scan" and plan["Relation Name"] in large:
        yield f"Seq Scan {plan['Relation Name']}"
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner, large)


def _aliased(name: str, sql: str) -> str:
    found = re.search(rf'"?(\w+)"? (?:AS )?"?{re.escape(name)}"?\b', sql)
    return found[1] if found and found[1] not in ("FROM", "JOIN", "AS") else name
