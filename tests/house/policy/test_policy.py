"""The permissions: policy.toml lists routes, methods, visibilities and people, and real requests compare its cells.

A route or method that the file does not list fails, and so does any cell that answers otherwise. A new route gets its
rows written by hand, from the decisions (D8), before its view is believed.
"""

from typing import Any

import pytest
from django.db import connection, transaction
from django.urls import reverse

from apps.audit.models import AuditEvent
from tests.house import scenario
from tests.house.conftest import client_for
from tests.house.outside import watch
from tests.house.policy.table import (
    COLUMNS,
    POLICY,
    ROUTES,
    ROWS,
    TABLES,
    asked_of,
    cells_of,
    columns_of,
    filled,
    kind_of,
    profile_of,
    refusals_of,
)
from tests.house.routes import METHODS, all_routes

pytestmark = pytest.mark.matrix


def ask(scene, client, name, method, row):
    """The answer, the numbers of new audit rows and of questions to the gate; all changes are rolled back."""
    questions = []

    def asked(execute, sql, *rest):
        if "JOIN accounts_namespace AS namespace" in sql:
            questions.append(sql)
        return execute(sql, *rest)

    url = scenario.version_for(name, method, scene.url(ROUTES[name], row))
    body = scenario.body_of(name, method, row)
    with transaction.atomic(), connection.execute_wrapper(asked):
        before = method != "GET" and AuditEvent.objects.count()
        response = getattr(client, method.lower())(url, **body) if body else client.generic(method, url)
        list(getattr(response, "streaming_content", []))
        events = method != "GET" and AuditEvent.objects.count() - before
        transaction.set_rollback(True)
    return status_of(response), events, len(questions)


def status_of(response):
    """The status; a redirect to the page that asks who it is has that page's name."""
    pages = {"account_login": "sign-in", "account_reauthenticate": "confirm", "portal:second-factor": "set-up"}
    leads_to = response.url.partition("?")[0] if response.status_code == 302 else ""
    return next((name for page, name in pages.items() if leads_to == reverse(page)), response.status_code)


def is_silent(table, method, status, events):
    """A change that left no trace; where the table says so, it is quiet, or 200 only shows the page again."""
    changed = status in (201, 202, 303) or (status == 200 and not table.get("shows"))
    return method != "GET" and changed and events == 0 and not table.get("quiet")


def test_no_form_shows_what_it_made_in_its_own_answer():
    """A reload would make another: such a POST redirects. 200 is for what only shows the page again."""
    made = {
        name
        for name in TABLES
        if kind_of(name) == "session" and not ROUTES[name].is_library
        for (method, _, _), status in cells_of(name).items()
        if method == "POST" and status == 200 and not TABLES[name]["POST"].get("shows")
    }
    assert made == set()


@pytest.mark.both
@pytest.mark.parametrize("name", sorted(TABLES))
def test_each_cell_answers_as_the_policy_says(scene, client_of, name):
    expected, found, silent, again = asked_of(name) | refusals_of(name), {}, [], {}
    clients = {who: client_of(who) for _, _, who in expected}
    outside: list[str] = []
    for method, row, who in expected:
        with watch.escapes() as escaped:
            status, events, questions = ask(scene, clients[who], name, method, row)
        outside += escaped
        found[method, row, who] = status
        if questions > TABLES[name].get(method, {}).get("asks", 1) and status in range(200, 400):
            again[method, row, who] = questions
        if is_silent(TABLES[name].get(method, {}), method, status, events):
            silent.append((method, row, who))

    wrong = {cell: (expected[cell], found[cell]) for cell in expected if expected[cell] != found[cell]}
    assert wrong == {}, "cell: (policy, answer)"
    assert silent == [], "a change without an audit row"
    assert outside == [], "a wait that tests/house/outside/outside.toml does not list"
    assert again == {}, "the gate is asked once; `asks` in the policy says where more often"


def test_a_session_without_a_recent_proof_is_asked_where_the_policy_says_so(scene):
    """Everywhere else it may act: to revoke something must not wait for a password."""
    asked = set()
    for name in TABLES:
        if name.startswith("portal:") and "POST" in TABLES[name]:
            cells = cells_of(name)
            row = "public" if ("POST", "public", "dora") in cells else "any"
            who = "dora" if cells.get(("POST", row, "dora"), 200) != 403 else "olga"
            client = client_for(scene, who, confirmed=False)
            status, events, _ = ask(scene, client, name, "POST", row)
            if status == "confirm":
                asked.add(name)
                assert events == 0, name
    assert asked == {name for name, tables in TABLES.items() if tables.get("POST", {}).get("confirmed")}


def test_every_route_is_listed():
    assert set(ROUTES) == set(TABLES)


def test_every_profile_is_used():
    listed = [(name, table) for name, methods in POLICY["route"].items() for table in methods.values()]
    used = {(table["profile"], kind_of(name)) for name, table in listed if "profile" in table}
    assert {(profile, kind) for profile, kinds in POLICY["profile"].items() for kind in kinds} == used


def test_each_exception_changes_a_cell():
    """A `but` that says the same as `like` would hide the ones that matter."""
    tables: list[Any] = [
        (profile, kind, table, {}) for profile, of in POLICY["profile"].items() for kind, table in of.items()
    ]
    for name, methods in POLICY["route"].items():
        tables += [(name, kind_of(name), table, profile_of(name, table)) for table in methods.values()]
    idle = []
    for name, kind, table, profile in tables:
        for who, said in table.get("but", {}).items():
            others = {other: one for other, one in table["but"].items() if other != who}
            cells, without = filled(kind, table, profile), filled(kind, {**table, "but": others}, profile)
            changed = {row for row in ROWS if row in cells and cells[row][who] != without[row][who]}
            if not changed or (isinstance(said, dict) and changed != set(said)):
                idle.append((name, who))
    assert idle == []


def test_every_route_has_a_name():
    unnamed = {route.pattern for route in all_routes() if route.name is None and not route.is_admin}
    assert unnamed == set(POLICY["unnamed"]["patterns"])


def test_what_no_route_knows_is_not_found_for_anybody(client_of):
    for who in COLUMNS["token"]:
        client = client_of(who)
        answers = {
            (url, method): client.generic(method, url) for url in POLICY["unnamed"]["urls"] for method in METHODS
        }
        assert {case: answer.status_code for case, answer in answers.items()} == dict.fromkeys(answers, 404), who


def test_what_is_hidden_answers_as_what_is_missing():
    """D8, on the policy itself: strangers learn nothing from the difference, because there is none."""
    for name, tables in TABLES.items():
        for table in tables.values():
            if "missing" not in table or table.get("tells"):
                continue
            for who in columns_of(name):
                if who.partition("-")[0] in ("nobody", "charlie", "eve"):
                    assert table["private"][who] == table["missing"][who], (name, who)


@pytest.mark.parametrize("who", ["nobody", "dora", "eve", "olga-manage"])
def test_the_admin_lets_only_staff_in(client_of, who):
    client = client_of(who)
    for route in all_routes():
        if route.is_admin and route.name is not None:
            values = dict.fromkeys(route.arguments, "1") | {"app_label": "jobs"}
            url = reverse(route.name, kwargs={argument: values[argument] for argument in route.arguments})
            for method in ("GET", "POST"):
                assert client.generic(method, url).status_code in (302, 403), (method, url)
