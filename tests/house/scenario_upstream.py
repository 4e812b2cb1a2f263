"""What the routes of upstreams name: for each visibility one with it."""

import json
from typing import Any

from apps.accounts.access.gate import Viewer
from apps.upstream import upstreams

NOWHERE: dict[str, Any] = {"host": "nowhere.example"}


def place(namespace, operator):
    host = f"{namespace.name}.registry.example"
    upstreams.change(host, actor=Viewer(operator), enabled=True, visibility=namespace.visibility)
    return {"host": host}


def _json(**body):
    return {"data": json.dumps(body), "content_type": "application/json"}


BODIES: dict[tuple[str, str], Any] = {
    ("api:upstream", "PUT"): _json(enabled=True, cooldown_days=7),
}
