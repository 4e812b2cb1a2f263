"""No input is answered with a 5xx: every route of the URL configuration, with hostile paths, bodies and headers."""

import io
from http.cookies import SimpleCookie
from itertools import islice
from urllib.parse import unquote_to_bytes

import pytest
from django.conf import settings
from django.db import transaction

from registry_site.server.handler import Utf8Request
from tests.house.fuzzing import requests
from tests.house.policy.table import TABLES, cells_of
from tests.house.routes import all_routes
from tests.turns import DAYS, in_turn

# PostgreSQL refuses more of what is in a request: the attacks on SQLite are for the night.
pytestmark = [
    pytest.mark.both,
    pytest.mark.matrix,
    pytest.mark.timeout(1200),  # every route in one test: minutes on a machine that others keep busy
    *([pytest.mark.nightly] if settings.TEST_DATABASE == "sqlite" else []),
]
# Twenty rounds of some seeds were run by hand: raise ROUNDS to look for more. Each database has attacks of its own.
SEED, ROUNDS = {"sqlite": 11, "postgres": 12}[settings.TEST_DATABASE], 1
# Who may do much gets far: nobody and a publisher, an owner, staff; by token where clients speak, else by session.
BY_TOKEN = ("nobody", "alice-manage", "dora-manage", "olga-manage")
BY_SESSION = ("nobody", "alice", "dora", "olga")
# /readyz says so: no worker runs beside the tests.
UNREADY = {("readyz", 503)}


@pytest.fixture
def own_request(monkeypatch):
    """The test client makes its requests of Django's class: it takes ours, as registry_site/wsgi.py does."""
    monkeypatch.setattr("django.test.client.WSGIRequest", Utf8Request)


@pytest.fixture
def clients(client_of, own_request):
    return {who: client_of(who) for who in {*BY_TOKEN, *BY_SESSION}}


def send(client, attack):
    """The status, and what was raised. Whatever it changed is undone, also at the client."""
    cookies = client.cookies.output(header="", sep=";")
    environ = {
        "PATH_INFO": unquote_to_bytes(attack.path).decode("latin-1"),
        "QUERY_STRING": attack.query,
        # As behind granian: the input ends with the body, whatever the length says.
        "wsgi.input": io.BytesIO(attack.body),
        "wsgi.input_terminated": True,
        "CONTENT_LENGTH": str(len(attack.body)),
        **attack.headers,
    }
    with transaction.atomic():
        response = client.generic(attack.method, "/", b"x", attack.content_type, **environ)
        list(getattr(response, "streaming_content", []))
        transaction.set_rollback(True)
    client.cookies = SimpleCookie(cookies)
    raised = getattr(response, "exc_info", None)
    return response.status_code, raised and raised[1]


def who_asks(route):
    if route.is_admin:
        return ("olga", "olga")
    return BY_TOKEN if (route.name or "api:").startswith(("api:", "oci:", "protocol:")) else BY_SESSION


def methods_of(route):
    if route.is_admin or route.is_library:
        return ["GET", "POST"]
    return [*TABLES.get(route.name, {"GET": {}})]


def test_no_input_is_answered_with_a_server_error(scene, clients):
    fuzzer = requests.Fuzzer(scene, SEED)
    broken: dict[tuple[str, str], requests.Attack] = {}
    for _ in range(ROUNDS):
        for route in all_routes():
            for who in who_asks(route):
                attack = fuzzer.attack(route, who, methods_of(route))
                status, raised = send(clients[who], attack)
                if status >= 500 and (route.name, status) not in UNREADY:
                    broken.setdefault((attack.name, str(raised)[:100]), attack)

    assert broken == {}


def field_attacks(fuzzer):
    for route in all_routes():
        for method in methods_of(route) if route.name in TABLES else ():
            # A user who passes the gate: an owner, or staff where owners do not.
            listed = cells_of(route.name)
            named = [who for who in who_asks(route)[2:] if listed.get((method, "private", who)) not in (401, 403, 404)]
            yield from fuzzer.each_field(route, named[0] if named else who_asks(route)[-1], method)


@pytest.mark.parametrize("part", in_turn(range(DAYS)))
def test_no_field_is_answered_with_a_server_error(scene, clients, part):
    """Each field of each form and JSON document that the policy sends, with each of the worst values, in parts."""
    broken: dict[tuple[str, str], requests.Attack] = {}
    for attack in islice(field_attacks(requests.Fuzzer(scene, SEED)), part, None, DAYS):
        status, raised = send(clients[attack.who], attack)
        if status >= 500:
            broken.setdefault((attack.name, str(raised)[:100]), attack)

    assert broken == {}
