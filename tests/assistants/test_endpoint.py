"""/mcp: who may ask, what is refused before a tool runs, and that it is off by default."""

import pytest
from django.test import Client

from apps.accounts.models import Scope
from apps.lib.settings_values.rates import Rate
from tests.assistants.conftest import HEADERS, send
from tests.rows import for_each_row

pytestmark = pytest.mark.both


def test_there_is_nothing_unless_it_is_on(settings, tofu, bob):
    settings.MCP = False

    answer = send(tofu(bob), "tools/list")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_without_a_token_the_answer_says_where_to_create_one(db):
    answer = send(Client(), "tools/list")

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert "/tokens" in answer.json()["error"]["hint"]


def test_a_session_is_no_token(browser_of, bob):
    assert send(browser_of(bob), "tools/list").status_code == 401


def test_a_token_that_reads_is_enough(tofu, bob):
    assert send(tofu(bob, Scope.READ), "tools/list").status_code == 200


def test_a_client_learns_what_the_server_is_and_that_it_keeps_no_session(tofu, bob):
    told = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}

    answer = send(tofu(bob), "initialize", **told)

    result = answer.json()["result"]
    assert (result["serverInfo"]["name"], result["protocolVersion"]) == ("larder", "2025-11-25")
    assert "yanked" in result["instructions"]
    assert "tools" in result["capabilities"]
    assert "Mcp-Session-Id" not in answer


@for_each_row("method", ["get", "put", "delete"])
def test_there_is_no_stream_to_open_and_no_session_to_end(tofu, bob, method):
    assert getattr(tofu(bob), method)("/mcp").status_code == 405


def test_a_page_of_another_site_is_refused(tofu, bob):
    ours = tofu(bob).post("/mcp", "{}", content_type="application/json", headers={**HEADERS, "Origin": "https://evil"})

    assert ours.status_code == 403


@for_each_row(("body", "status"), [("{", 400), ("[]", 400), ('{"jsonrpc": "2.0"}', 400)])
def test_what_is_no_request_is_refused(tofu, bob, body, status):
    answer = tofu(bob).post("/mcp", body, content_type="application/json", headers=HEADERS)

    assert answer.status_code == status
    assert answer["Content-Type"].startswith("application/json")


def test_a_body_beyond_the_limit_is_refused_before_it_is_read(settings, tofu, bob):
    settings.JSON_MAX_BYTES = 1024

    answer = tofu(bob).post("/mcp", b"x" * 2048, content_type="application/json", headers=HEADERS)

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


def test_too_many_calls_are_told_to_wait(settings, tofu, bob):
    settings.RATES = {**settings.RATES, "search": Rate(2, 3600)}

    statuses = [send(tofu(bob), "tools/list").status_code for _ in range(3)]

    assert statuses == [200, 200, 429]
