"""A defect is a 500 with its request id in every dialect, and one line in the log; an outage is a 503 without one."""

import html
import logging
import sqlite3

import psycopg
import pytest
from django.db import OperationalError, connection
from django.test import Client

pytestmark = pytest.mark.django_db

SAID = "Something went wrong on our side. The error has been logged."
HINT = "Give an operator the request id trace-7."
BODIES = {
    "/v1/modules/acme/vpc/aws/versions": {"errors": [f"{SAID} {HINT}"]},
    "/v1/mirror/127.0.0.1/acme/dns/index.json": {"errors": [f"{SAID} {HINT}"]},
    "/api/v1/namespaces/acme": {"error": {"code": "internal_error", "message": SAID, "hint": HINT, "reasons": []}},
    "/v2/acme/vpc/aws/tags/list": {"errors": [{"code": "UNKNOWN", "message": f"{SAID} {HINT}"}]},
}
PAGES = ("/modules/acme/vpc/aws", "/admin/")


@pytest.fixture
def visitor(olga):
    client = Client(raise_request_exception=False)
    client.force_login(olga)
    return client


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.WARNING)
    return lambda: [record for record in caplog.records if record.name.startswith("larder.")]


def broken(execute, sql, params, many, context):
    raise LookupError("a secret that no answer may show")


def ask(visitor, path):
    return visitor.get(path, headers={"X-Request-Id": "trace-7"})


@pytest.mark.parametrize("path", [*BODIES, *PAGES])
def test_a_defect_is_a_500_that_names_its_request_and_is_logged_once(visitor, lines, path):
    with connection.execute_wrapper(broken):
        answer = ask(visitor, path)

    (line,) = lines()
    assert answer.status_code == 500
    assert "Retry-After" not in answer.headers, "the same again fails again"
    assert line.msg["event"] == "internal_error"
    assert line.msg["request_id"] == "trace-7"
    assert isinstance(line.msg["exc_info"], LookupError)
    if path in BODIES:
        assert answer.json() == BODIES[path]
        assert answer.headers["Cache-Control"] == "no-store"
    else:
        page = html.unescape(answer.content.decode())
        assert "trace-7" in page
        assert "secret" not in page


@pytest.mark.parametrize("path", [*BODIES, *PAGES])
def test_an_outage_is_a_503_with_the_time_to_ask_again(visitor, lines, database_away, path):
    with database_away():
        answer = ask(visitor, path)

    (line,) = lines()
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "2"
    assert line.msg["event"] == "database_away"
    assert "exc_info" not in line.msg


def full_sqlite() -> sqlite3.Error:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


@pytest.mark.parametrize(
    "cause", [full_sqlite(), psycopg.errors.DiskFull("could not extend file")], ids=["SQLite", "PG"]
)
@pytest.mark.parametrize("path", BODIES)
def test_a_database_without_room_says_so(visitor, lines, path, cause):
    def refuse(*_):
        raise OperationalError(str(cause)) from cause

    with connection.execute_wrapper(refuse):
        answer = ask(visitor, path)

    (line,) = lines()
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert "The disk of the database is full." in answer.content.decode()
    assert (line.msg["event"], line.levelname) == ("database_full", "ERROR")


def test_what_fails_before_a_view_is_found_has_the_dialect_of_its_path(visitor):
    for path, shape in (
        ("/api/v1/namespaces/acme", {"error"}),
        ("/v2/", {"errors"}),
        ("/v1/modules/acme/vpc/aws/versions", {"errors"}),
    ):
        answer = visitor.get(path, headers={"Host": "somebody.else.example"})
        assert answer.status_code == 400
        assert set(answer.json()) == shape
