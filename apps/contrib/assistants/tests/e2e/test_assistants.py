"""docs/assistants.md: the official client of the Model Context Protocol asks a live Larder."""

import asyncio
import json
import ssl
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests import documents
from tests.e2e.conftest import Shelf
from tests.live import Live

pytestmark = pytest.mark.live


async def asked(live: Live, token: str, mode: str, *calls: tuple[str, dict[str, str]]) -> tuple[list[str], list[Any]]:
    """The names of the tools, and the result of each call."""
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    trust = ssl.create_default_context(cafile=str(live.ca_bundle))
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, verify=trust, timeout=60) as http,
        Client(streamable_http_client(f"{live.url}/mcp", http_client=http), mode=mode) as client,
    ):
        tools = await client.list_tools()
        return [tool.name for tool in tools.tools], [await client.call_tool(name, given) for name, given in calls]


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_official_client_finds_a_private_module_and_learns_how_to_use_it(
    live: Live, shelf: Shelf, mode: str
) -> None:
    address = {"address": f"{live.host}/acme/vpc/aws"}
    calls = [
        ("find_modules", {"words": "vpc"}),
        ("choose_version", {**address, "constraint": "~> 1.0"}),
        ("describe_version", address),
        ("compare_versions", {**address, "before": "1.0.0", "after": "1.2.0"}),
    ]

    tools, results = asyncio.run(asked(live, shelf.read, mode, *calls))

    assert {name for name, _ in calls} < set(tools)
    assert not any(result.is_error for result in results)
    found, chosen, described, compared = (json.loads(result.content[0].text) for result in results)
    assert "acme/vpc/aws" in [one["address"] for one in found["modules"]]
    assert (chosen["version"], described["version"], compared["to"]) == ("1.2.0",) * 3
    assert f'source  = "{live.host}/acme/vpc/aws"' in described["block"]


def test_a_stranger_is_told_that_there_is_no_such_namespace(live: Live, shelf: Shelf) -> None:
    with live.client(shelf.manage) as client:
        assert client.put("/api/v1/teams/strangers", json={}).status_code in (200, 201)
        accounts = "/api/v1/teams/strangers/service-accounts/charlie"
        assert client.put(accounts, json={}).status_code in (200, 201)
        made = client.post(f"{accounts}/tokens", json={"label": "assistant", "scope": "read"})
        assert made.status_code == 201, made.text
        token = made.json()["secret"]

    calls = [("find_modules", {"words": "vpc"}), ("describe_version", {"address": "acme/vpc/aws"})]

    _, [found, described] = asyncio.run(asked(live, token, "auto", *calls))

    namespaces = {one["namespace"] for one in json.loads(found.content[0].text)["modules"]}
    assert "open" in namespaces
    assert "acme" not in namespaces
    assert described.is_error
    assert "no namespace 'acme' that you can see" in described.content[0].text


def test_without_a_token_the_client_is_refused(live: Live, shelf: Shelf) -> None:
    from mcp import MCPError

    with pytest.raises((MCPError, ExceptionGroup)):
        asyncio.run(asked(live, "", "legacy"))


@pytest.mark.needs("curl")
def test_the_command_of_the_page_lists_the_tools(live: Live, shelf: Shelf, tmp_path: Path) -> None:
    test = "apps/contrib/assistants/tests/e2e/test_assistants.py::test_the_command_of_the_page_lists_the_tools"
    [fence] = documents.run_by(test)
    command = fence.text.replace("https://registry.example.com", live.url)
    environment = {**live.environment, "LARDER_TOKEN": shelf.read, "CURL_CA_BUNDLE": str(live.ca_bundle)}

    done = subprocess.run(
        ["sh", "-c", command], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "choose_version" in [tool["name"] for tool in json.loads(done.stdout)["result"]["tools"]]
