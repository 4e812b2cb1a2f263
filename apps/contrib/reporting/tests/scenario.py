"""What the route of reports takes: a configuration that has installed nothing."""

import json

NOWHERE: dict[str, object] = {}


def place(namespace, users):
    return {}


def bodies():
    report = {"repository": "team/infrastructure", "modules": {"Modules": []}}
    return {("api:usage", "POST"): {"data": json.dumps(report), "content_type": "application/json"}}
