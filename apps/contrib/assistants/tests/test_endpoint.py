"""/mcp: who may ask, what is refused before a tool runs, and that it is off by default."""

from django.test import Client

from apps.accounts.models import Scope
from apps.contrib.assistants.tests.conftest import HEADERS, send
from apps.lib.settings_values.rates import Rate


def test_there_is_nothing_unless_it_is_on(settings, tofu, bob):
    settings.MCP = False

    answer = send(tofu(bob), "tools/list")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_the_page_for_clients_has_the_configuration_where_it_is_on(client, db, settings):
    page = client.get("/how-to-use").text
    assert '<a href="#assistants">AI assistants</a>' in page
    assert f"{settings.PUBLIC_URL}/mcp" in page

    settings.MCP = False

    assert "#assistants" not in client.get("/how-to-use").text


def test_without_a_token_the_answer_says_where_to_create_one(browser_of, bob):
    answer = send(Client(), "tools/list")

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert "/tokens" in answer.json()["error"]["hint"]
    assert send(browser_of(bob), "tools/list").status_code == 401, "a session is no token"


def test_a_client_with_a_token_that_reads_learns_what_the_server_is_and_that_it_keeps_no_session(tofu, bob):
    told = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    client = tofu(bob, Scope.READ)

    answer = send(client, "initialize", **told)

    result = answer.json()["result"]
    assert (result["serverInfo"]["name"], result["protocolVersion"]) == ("larder", "2025-11-25")
    assert "yanked" in result["instructions"]
    assert "tools" in result["capabilities"]
    assert "Mcp-Session-Id" not in answer
    assert {getattr(client, method)("/mcp").status_code for method in ("get", "put", "delete")} == {405}


def test_a_page_of_another_site_is_refused(tofu, bob):
    ours = tofu(bob).post("/mcp", "{}", content_type="application/json", headers={**HEADERS, "Origin": "https://evil"})

    assert ours.status_code == 403


def test_what_is_no_request_or_too_large_is_refused(settings, tofu, bob):
    settings.JSON_MAX_BYTES = 1024
    for body, status in (("{", 400), ("[]", 400), ('{"jsonrpc": "2.0"}', 400), ("x" * 2048, 413)):
        answer = tofu(bob).post("/mcp", body, content_type="application/json", headers=HEADERS)

        assert answer.status_code == status
        assert answer["Content-Type"].startswith("application/json")
    assert answer.json()["error"]["code"] == "too_large"


def test_too_many_calls_are_told_to_wait(settings, tofu, bob):
    settings.RATES = {**settings.RATES, "search": Rate(2, 3600)}

    statuses = [send(tofu(bob), "tools/list").status_code for _ in range(3)]

    assert statuses == [200, 200, 429]
