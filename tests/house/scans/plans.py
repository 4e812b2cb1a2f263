"""What a query reads of the tables that grow: PostgreSQL runs it again under EXPLAIN ANALYZE, and counts rows."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from tests.house.scans.tables import GROWING, ROWS, tables

# A query that reads so many rows of a table reads the table: with ten times as many rows it takes ten times as long.
WHOLE = ROWS * 9 // 10
# A sequential scan that looks for rows, and has passed more than these by, was only lucky to end.
UNFILTERED = 1_000

Query = tuple[str, Any]


@contextmanager
def asked() -> Iterator[list[Query]]:
    """The queries of this connection, in their order."""
    queries: list[Query] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not many and sql.lstrip("( ").startswith(("SELECT", "WITH")):
            queries.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield queries


def growing() -> frozenset[str]:
    found = tables()
    return frozenset(found[label]._meta.db_table for label in GROWING)


def scans_of(query: Query, growing: frozenset[str]) -> list[str]:
    """What the query reads from end to end, such as `Seq Scan releases_release, 24003 rows`.

    For a join PostgreSQL prefers to read 24,000 rows to some hundred look-ups by an index, but would not read millions:
    what it joins whole without that choice as well it joins whole at every size.
    """
    if not any(f'"{table}"' in query[0] or f" {table} " in query[0] for table in growing):
        return []
    found = _planned(query, growing)
    if all(is_joined for is_joined in found.values()):
        found = _planned(query, growing, "off") if found else {}
    return sorted(found)


def _planned(query: Query, growing: frozenset[str], sequential: str = "on") -> dict[str, bool]:
    """{scan: True if it looks for nothing, but reads rows for a join}."""
    sql, params = query
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('enable_seqscan', %s, FALSE)", [sequential])
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", params)
        (plan,) = cursor.fetchone()
        cursor.execute("SELECT set_config('enable_seqscan', 'on', FALSE)")
    root = (plan if isinstance(plan, list) else json.loads(plan))[0]["Plan"]
    return {found: "Filter" not in node for node in _nodes(root) if (found := _scan(node, growing))}


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)


def _scan(node: dict[str, Any], growing: frozenset[str]) -> str:
    table = node.get("Relation Name")
    if table not in growing:
        return ""
    left_out = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    read = (node["Actual Rows"] + left_out) * node["Actual Loops"]
    is_whole = read >= WHOLE or (node["Node Type"] == "Seq Scan" and left_out * node["Actual Loops"] > UNFILTERED)
    return f"{node['Node Type']} {table}, {int(read)} rows" if is_whole else ""
