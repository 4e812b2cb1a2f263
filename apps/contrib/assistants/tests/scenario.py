"""The questions of assistants."""

import json

NOWHERE: dict[str, object] = {}


def place(namespace, users):
    return {}


def bodies():
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Accept": "application/json, text/event-stream"}
    return {
        ("assistants:mcp", "POST"): {
            "data": json.dumps(message),
            "content_type": "application/json",
            "headers": headers,
        }
    }
