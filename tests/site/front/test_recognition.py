"""Known requests: equal in every byte but their id, few enough, and without their secrets."""

import pytest

from registry_site.front.table import MOST, MOST_BYTES, Known, Recognition
from registry_site.server.access_lines import Line
from tests.rows import for_each_row
from tests.site.front.asking import scope_of

PLAIN = [(b"host", b"testserver"), (b"accept", b"*/*")]
KNOWN = Known(("GET",), 200, "", Line("", "", {}))


@pytest.fixture
def scope(client):
    return scope_of(client, "/v1/modules") | {"headers": PLAIN}


@for_each_row(
    "other",
    [
        {"method": "HEAD"},
        {"scheme": "https"},
        {"path": "/v1/Modules"},
        {"raw_path": b"/v1%2Fmodules"},
        {"query_string": b"&"},
        {"client": ("127.0.0.2", "40000")},
        {"headers": PLAIN[:1]},
        {"headers": [*PLAIN, PLAIN[0]]},
        {"headers": [(b"host", b"testserve"), (b"raccept", b"*/*")]},
        {"headers": [*PLAIN, (b"cookie", b"sessionid=x")]},
        {"headers": [*PLAIN, (b"authorization", b"Bearer a")]},
        {"headers": [*PLAIN, (b"x-request-id", b"a"), (b"x-request-id", b"a")]},
    ],
)
def test_another_request_is_not_the_known_one(scope, other):
    recognition = Recognition()
    recognition.add(scope, KNOWN)
    assert recognition.find(scope)[0] is KNOWN
    assert recognition.find(scope | other)[0] is None


def test_equal_requests_have_ids_and_ports_of_their_own(scope):
    recognition = Recognition()
    recognition.add(scope | {"headers": [(b"x-request-id", b"a"), *PLAIN]}, KNOWN)
    for asked in ("a", "b"):
        again = {"headers": [*PLAIN, (b"x-request-id", asked.encode())], "client": ("127.0.0.1", "40001")}
        assert recognition.find(scope | again) == (KNOWN, asked)
    assert recognition.find(scope) == (KNOWN, "")


def test_the_newest_requests_are_remembered_and_no_more(scope):
    recognition = Recognition()
    for number in range(2 * MOST + 1):
        recognition.add(scope | {"query_string": b"%d" % number}, KNOWN)
    assert len(recognition) == MOST
    assert recognition.find(scope | {"query_string": b"%d" % (2 * MOST)})[0] is KNOWN
    assert recognition.find(scope | {"query_string": b"0"})[0] is None


def test_a_request_that_its_sender_made_long_is_not_remembered(scope):
    recognition = Recognition()
    for long in ({"query_string": b"x" * MOST_BYTES}, {"headers": [*PLAIN, (b"user-agent", b"x" * MOST_BYTES)]}):
        recognition.add(scope | long, KNOWN)
    assert len(recognition) == 0


def test_a_known_request_holds_no_secret(scope):
    recognition = Recognition()
    recognition.add(scope | {"headers": [*PLAIN, (b"authorization", b"Bearer lrd_u_secret")]}, KNOWN)
    assert "lrd_u_secret" not in repr(recognition._known)
