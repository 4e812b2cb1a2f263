"""The policy table, asked of the front: what is ready reaches nobody to whom Django would not answer it."""

from functools import cache
from typing import Any

import pytest
from django.conf import settings

from tests.house import scenario
from tests.house.policy.table import ROUTES, TABLES, cells_of, distinct_of, kind_of
from tests.site.front.asking import Answer, Process

pytestmark = [pytest.mark.both, pytest.mark.matrix]

# Bytes are another part of the front: tests/site/front/test_archives.py and test_mirrored.py.
BYTES = {
    "protocol:archive",
    "protocol:archive-capability",
    "protocol:mirror-package",
    "protocol:mirror-package-capability",
}
READY = sorted(name for name in TABLES if kind_of(name) == "token" and "GET" in TABLES[name] and name not in BYTES)
Cell = tuple[str, str, str]  # method, row, person
READY_IN_THE_API = {"api:modules", "api:providers", "api:module-versions", "api:provider-versions"}


def differ(one: Answer, other: Answer) -> bool:
    """Whether the front repeated something else. Django's own answers may differ: a token holds the time."""
    if not (one.was_ready or other.was_ready):
        return one.status != other.status
    return (one.status, one.headers, one.body) != (other.status, other.headers, other.body)


def first_of_each_status(expected: dict[Cell, Any]) -> set[Cell]:
    """One cell for each status that a row of the table has."""
    return set({(row, status): (method, row, who) for (method, row, who), status in expected.items()}.values())


@pytest.mark.parametrize("name", READY)
def test_what_became_ready_answers_each_person_as_django_does(scene, client_of, name):
    """All people share one table: each asks twice, then all once more when everything that may be ready is.

    Nothing of most routes ever is: there Django answers everybody, and test_policy.py has asked it.
    """
    process, found, again, differing, is_ready = Process(), {}, {}, [], False
    cells = distinct_of(name) if settings.TEST_DATABASE == "postgres" else cells_of(name)
    expected = {cell: status for cell, status in cells.items() if cell[0] == "GET"}
    first_asked, clients = first_of_each_status(expected), cache(client_of)
    for cell in sorted(expected, key=lambda one: one not in first_asked):
        if cell not in first_asked and not is_ready:
            break
        method, row, who = cell
        client, url = clients(who), scenario.version_for(name, method, scene.url(ROUTES[name], row))
        first, second = (process.ask(client, url) for _ in range(2))
        found[cell] = first.status
        is_ready |= second.was_ready
        again[cell] = (client, url, first)
        if differ(first, second):
            differing.append(cell)
    for cell, (client, url, first) in again.items() if is_ready else ():
        if differ(first, process.ask(client, url)):
            differing.append(cell)
    process.end()

    assert {cell: status for cell, status in found.items() if status != expected[cell]} == {}
    assert differing == []


def test_the_routes_that_clients_ask_are_ready_for_those_who_may(scene, client_of):
    process, asked, not_ready, conditional = Process(), client_of("bob-manage"), [], set()
    for name in READY:
        row = "any" if "any" in TABLES[name]["GET"] else "private"
        url = scenario.version_for(name, "GET", scene.url(ROUTES[name], row))
        for method in ("GET", "HEAD"):
            first, second = (process.ask(asked, url, method) for _ in range(2))
            if not second.was_ready and first.status == 200:
                not_ready.append((name, method))
            etag = dict(first.headers).get(b"etag", b"").decode()
            if etag and second.was_ready:
                changed = [process.ask(asked, url, method, **{"If-None-Match": etag}) for _ in range(2)]
                assert [(one.status, one.body, one.was_ready) for one in changed] == [
                    (304, b"", False),
                    (304, b"", True),
                ]
                conditional.add(name)
    process.end()

    # Bytes, tokens, and what clients ask once.
    bytes_and_tokens = {"oci:blob", "oci:token"}
    assert conditional == {"oci:manifest"}, "the documents with an ETag"
    in_the_api = {name for name in READY if name.startswith("api:")}
    sent = {name for name in READY if name.startswith("packages:")}  # bytes as well
    assert {name for name, _ in not_ready if name not in in_the_api | sent} == bytes_and_tokens | {
        "oci:ping",
        "oci:ping-without-slash",
        "oci:catalog",
    }
    assert in_the_api - {name for name, _ in not_ready} >= READY_IN_THE_API, "the lists of the API"
