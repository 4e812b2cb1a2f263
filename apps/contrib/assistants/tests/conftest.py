"""Tools are called as a client calls them: JSON-RPC by POST to /mcp."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


def send(client: Client, method: str, **parameters: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    return client.post("/mcp", json.dumps(message), content_type="application/json", headers=HEADERS)


@pytest.fixture
def ask(tofu: Callable[..., Client]) -> Callable[..., Any]:
    """`ask(bob, "find_modules", words="vpc")`: the document of the answer, or the sentence of a refusal."""

    def asked(user: Any, tool: str, **arguments: str) -> Any:
        answer = send(tofu(user), "tools/call", name=tool, arguments=arguments)
        assert answer.status_code == 200, answer.content
        result = answer.json()["result"]
        (content,) = result["content"]
        return content["text"] if result["isError"] else json.loads(content["text"])

    return asked
