"""What the routes of upstreams name: for each visibility one with it."""

import json
from typing import Any

from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.blobs import capabilities
from apps.upstream import upstreams
from tests.upstream import shelf

_PROVIDER = {"namespace": "acme", "type": "random", "version": "3.6.0"}
_FORGED = {"capability": "forged.link", "file_name": "terraform-provider-random_3.6.0_linux_amd64.zip"}
NOWHERE: dict[str, Any] = {
    "host": "nowhere.example",
    "mirrored": {"hostname": "nowhere.example"} | _PROVIDER | _FORGED,
}


def place(namespace, operator):
    host = f"{namespace.name}.registry.example"
    row = upstreams.change(host, actor=Viewer(operator), enabled=True, cooldown_days=0, visibility=namespace.visibility)
    package = shelf.add_package(shelf.add_version(row, "acme/random"), namespace.name.encode())
    capability = capabilities.sign(digest=package.digest, file_name=package.filename, now=timezone.now())
    mirrored = {"hostname": host, "capability": capability, "file_name": package.filename} | _PROVIDER
    return {"host": host, "mirrored": mirrored}


def _json(**body):
    return {"data": json.dumps(body), "content_type": "application/json"}


BODIES: dict[tuple[str, str], Any] = {
    ("api:upstream", "PUT"): _json(enabled=True, cooldown_days=7),
}
