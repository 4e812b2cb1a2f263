"""Each operation of the API has an example that was sent: its request, and what was answered, in the schema.

`make schema` records the requests of tests/house/scenario.py (LARDER_RECORD_EXAMPLES) in the examples.json of tests and
of the rooms. What differs from run to run (times, ids, digests, sizes) is recorded as a value of the same shape.
"""

import json
import os
import re
import uuid
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

import pytest
from django.db import transaction
from django.urls import resolve

from apps.accounts.models import Grant
from tests import openapi, rooms
from tests.api import schema
from tests.house import scenario
from tests.house.policy.table import ROUTES, TABLES, cells_of, columns_of

pytestmark = pytest.mark.matrix

RECORD = bool(os.environ.get("LARDER_RECORD_EXAMPLES"))
# Who is asked to send it: the least that may.
SENDERS = ("alice-manage", "dora-manage", "olga-manage")
QUERIES = {
    "api:modules": {"q": "vpc", "sort": "updated"},
    "api:providers": {"q": "dns"},
    "api:search": {"q": "vpc"},
    "api:releases": {"state": "held"},
    "api:audit": {"kind": "namespace:release:published", "since": "2026-01-31"},
    "api:namespace-audit": {"kind": "namespace:release:published", "since": "2026-01-31"},
}
# What the scene lacks is made first: an empty namespace, a deprecated version, a queued job.
EMPTY = "/api/v1/namespaces/empty"
FIRST = {
    ("api:job-cancel", "POST"): ("POST", "retry", ""),
    ("api:namespace", "DELETE"): ("PUT", EMPTY, '{"visibility": "private"}'),
    ("api:module-restore", "POST"): ("POST", "/api/v1/modules/acme/vpc/aws/1.0.0/deprecate", '{"reason": "Old."}'),
    ("api:providers", "GET"): ("PATCH", "/api/v1/providers/acme/dns", '{"description": "DNS records"}'),
    ("api:provider-restore", "POST"): ("POST", "/api/v1/providers/acme/dns/1.0.0/deprecate", '{"reason": "Old."}'),
    **rooms.rows("FIRST"),
}
# These need a version that a worker has signed: tests/api/providers and tests/e2e/test_resign.py send them.
WITHOUT = {
    ("api:provider-resign", "POST"),
    ("api:provider-signature", "PUT"),
    # These need a version in its cool-down: tests/releases/test_cooldown.py sends them.
    *((f"api:{kind}-end-cooldown", "POST") for kind in ("module", "provider")),
    *rooms.entries("WITHOUT_EXAMPLE"),
}
STEADY = [
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(Z|\+00:00)"), "2026-11-20T12:00:00Z"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "2026-11-20"),
    (
        re.compile(r"(sha256:|)[0-9a-f]{64}"),
        r"\g<1>" + "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef",
    ),
    (re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}"), str(uuid.UUID(int=0xC0FFEE << 100 | 1 << 62))),
    (re.compile(r"[0-9A-F]{40}"), "0123456789ABCDEF0123456789ABCDEF01234567"),
    (re.compile(r"(/api/v1/releases/)[0-9a-f-]{36}"), r"\g<1>" + str(uuid.UUID(int=0xC0FFEE << 100 | 1 << 62))),
    # No scanner takes these for what they stand for.
    (re.compile(r"(lrd_[a-z]_)[0-9A-Za-z]{42}"), r"\g<1>…"),
    (re.compile(r"(lrd_[a-z]_)[0-9A-Za-z]{4}"), r"\g<1>0000"),
    (re.compile(r"(https?://[^/]+/invitations/)[\w-]{43}"), r"\g<1>…"),
    (re.compile(r"[\w.-]+:\d+"), "worker-1:7"),
    (re.compile(r"whsec_.+"), "whsec_…"),
    (re.compile(r"(:github-)\d+"), r"\g<1>7"),
    (re.compile(r"(.+:git-)\d+(\[bot\])"), r"\g<1>7\g<2>"),
    (re.compile(r"(https?://.+/git-hooks/)[\w-]{43}"), r"\g<1>…"),
    (re.compile(r"msg_[0-9a-f]+"), "msg_7"),
    (re.compile(r"(eyJfdHlwZSI6)[\w+/=]+"), r"\g<1>…"),
    (re.compile(r'{"type":"webhook.test".+'), '{"type":"webhook.test",…}'),
]
NUMBERS = [(re.compile(r"(.+_)?id|release"), 7), (re.compile(r"(.+_)?(bytes|size)"), 2048)]
# The scenario says little, since it is sent often; readers get a sentence.
SENTENCES = {"changed": "Networks of the platform team", "No.": "Its subnets overlap; use 1.0.1."}
AT_MOST = 2  # entries of a list


def steady(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: steady(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [steady(inner) for inner in value[:AT_MOST]]
    if isinstance(value, int) and not isinstance(value, bool):
        return next((steady_one for pattern, steady_one in NUMBERS if pattern.fullmatch(name)), value)
    if isinstance(value, str):
        for pattern, text in STEADY:
            if found := pattern.fullmatch(value):
                return found.expand(text)
    return value


def sent(scene: Any, client_of: Any, name: str, method: str) -> dict[str, Any]:
    """The request of the scenario and its answer, as the schema shows them."""
    cells = cells_of(name)
    row = "private" if (method, "private", columns_of(name)[0]) in cells else "any"
    may = (who for who in SENDERS if cells.get((method, row, who), 0) in range(200, 300))
    client = client_of(next(may, SENDERS[-1]))
    query = QUERIES.get(name, {}) if method == "GET" else {}
    url = scenario.version_for(name, method, scene.url(ROUTES[name], "private"))
    body = dict(scenario.body_of(name, method, "private"))
    if isinstance(body.get("data"), str):
        for word, sentence in SENTENCES.items():
            body["data"] = body["data"].replace(f'"{word}"', f'"{sentence}"')
    with transaction.atomic():
        if first := FIRST.get((name, method)):
            before, path, data = first
            assert client.generic(before, urljoin(url, path), data).status_code in range(200, 300)
            url = EMPTY if first[1] == EMPTY else url
        answer = client.generic(method, f"{url}?{urlencode(query)}" if query else url, **({"data": b""} | body))
        text = b"".join(answer.streaming_content) if answer.streaming else answer.content
        transaction.set_rollback(True)
    assert answer.status_code in range(200, 300), f"{method} {url}: {answer.status_code} {text[:300]!r}"
    example: dict[str, Any] = {
        "path": {key: steady(value, key) for key, value in resolve(urlsplit(url).path).kwargs.items()}
    }
    if query:
        example["query"] = query
    if isinstance(body.get("data"), str):
        example["body"] = steady(json.loads(body["data"]))
    example["status"] = answer.status_code
    if text and name not in ("api:schema", "api:statement-key-pem"):
        example["answer"] = steady(json.loads(text))
    return example


@pytest.fixture
def scene(scene: Any) -> Any:
    """As the policy's, without the owners that are machines: the examples are about people."""
    Grant.objects.filter(team__name="machines").delete()
    return scene


@pytest.fixture
def found(scene, client_of) -> dict[str, Any]:
    return {
        openapi.id_of(name, method): sent(scene, client_of, name, method)
        for name in sorted(TABLES)
        if name.startswith("api:")
        for method in TABLES[name]
        if (name, method) not in WITHOUT
    }


def test_each_example_is_what_was_sent_and_answered(found):
    if RECORD:
        openapi.record(found)
    recorded = openapi.examples()

    assert set(found) == set(recorded), "run `make schema`"
    if rooms.ARE_ALL_HERE:  # lists of the core have rows of rooms
        assert {name: found[name] for name in found if found[name] != recorded[name]} == {
            name: recorded[name] for name in found if found[name] != recorded[name]
        }, "run `make schema` if they should differ"


def test_the_schema_shows_them_and_they_have_its_shapes():
    from jsonschema import Draft202012Validator

    operations, components = schema.operations(), {"components": schema.document()["components"]}
    for name, example in openapi.examples().items():
        described = operations[name]
        shown = {one["name"]: one.get("example") for one in described.get("parameters", [])}
        assert {key: shown[key] for key in example["path"] | example.get("query", {})} == (
            example["path"] | example.get("query", {})
        )
        content = [(described["responses"][str(example["status"])], example.get("answer"))]
        if "body" in example:
            content.append((described["requestBody"], example["body"]))
        for part, value in content:
            if value is not None:
                media = part["content"]["application/json"]
                assert [one["value"] for one in media["examples"].values()] == [value]
                errors = Draft202012Validator(media["schema"] | components).iter_errors(value)
                assert [f"{name} {error.json_path}: {error.message}" for error in errors] == []
