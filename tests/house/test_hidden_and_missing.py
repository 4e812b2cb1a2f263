"""What is hidden cannot be told from what is missing by the time that the answer takes: the same queries are asked.

`python -m bench.timing` measures the times themselves.
"""

import pytest
from django.core.cache import cache
from django.db import connection, transaction

from tests.house import scenario
from tests.house.policy.table import ROUTES, TABLES, cells_of, columns_of

pytestmark = pytest.mark.matrix


def queries_of(scene, client, name, method, row):
    """The status, and each query without its values."""
    asked = []
    cache.clear()  # the number in the menu is counted anew after an act, which is rolled back below

    def note(execute, sql, *rest):
        asked.append(sql)
        return execute(sql, *rest)

    url = scenario.version_for(name, method, scene.url(ROUTES[name], row))
    body = scenario.body_of(name, method, row)
    with transaction.atomic(), connection.execute_wrapper(note):
        answer = getattr(client, method.lower())(url, **body) if body else client.generic(method, url)
        list(getattr(answer, "streaming_content", []))
        transaction.set_rollback(True)
    return answer, [sql for sql in asked if "SAVEPOINT" not in sql]


def hidden():
    """Each method of a route that answers a stranger the same for hidden and missing."""
    for name, tables in sorted(TABLES.items()):
        cells = cells_of(name)
        for method, table in tables.items():
            if {"private", "missing"} <= table.keys() and not table.get("tells"):
                for who in columns_of(name)[:3]:
                    if cells[method, "private", who] == cells[method, "missing", who]:
                        yield name, method, who


def test_hidden_and_missing_ask_the_same_queries(scene, client_of):
    clients: dict = {}
    different = {}
    for name, method, who in hidden():
        if who.startswith("bob"):  # he reads acme
            continue
        client = clients.setdefault(who, client_of(who))
        there, found = (queries_of(scene, client, name, method, row) for row in ("private", "missing"))
        if found[1] != there[1]:
            different[name, method, who] = there[0].status_code, len(there[1]), len(found[1])
    assert different == {}
    assert len(clients) > 3
