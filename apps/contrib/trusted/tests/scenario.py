"""What the routes of trusted publishers name: a rule of each namespace, for an issuer that is never asked."""

import json

from apps.accounts.access.gate import Viewer
from apps.contrib.trusted import publishers

RULE = {"kind": "github", "repository": "acme/vpc", "workflow": "release.yml", "environment": "production"}
NOWHERE = {"publisher_id": 0}


def place(namespace, users):
    return {"publisher_id": publishers.create(namespace=namespace, actor=Viewer(users["dora"]), **RULE).pk}


def bodies():
    other = RULE | {"workflow": "other.yml"}
    texts = {
        ("api:trusted-publishers", "POST"): other,
        ("api:trusted-publisher-preview", "POST"): other,
        ("api:trusted-publishing-token", "POST"): {"token": "a.b.c"},
    }
    return {case: {"data": json.dumps(body), "content_type": "application/json"} for case, body in texts.items()} | {
        ("portal:trusted-publisher-add", "POST"): {"data": other | {"step": "save"}},
        ("portal:trusted-publishers-only", "POST"): {"data": {"on": "1"}},
    }
