"""Schemathesis over the whole schema: no 5xx, no status, content type or shape that the schema does not name.

By day over every tenth operation, at night over all. It makes requests from the schema, right and wrong ones, which
nobody, an ordinary person and staff send. To look longer, by hand: `LARDER_SCHEMATHESIS_EXAMPLES=99
.venv/bin/pytest tests/house/test_schemathesis.py`; the seed is fixed.
"""

import os
import re
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from django.db import transaction
from django.urls import resolve

from apps.http import api_document
from registry_site.server.handler import Utf8Request
from tests import openapi
from tests.house import scenario
from tests.house.policy.table import ROUTES
from tests.turns import in_turn

pytestmark = pytest.mark.matrix

EXAMPLES = int(os.environ.get("LARDER_SCHEMATHESIS_EXAMPLES", "2"))
WHO = ("nobody", "alice-manage", "olga-manage")
# The test client sets its own; compressed answers are read by tests/site/server/test_compression.py.
NOT_SENT = {"Content-Type", "Content-Length", "Accept-Encoding"}
DESCRIBED = sorted(
    operation["operationId"] for methods in api_document.document()["paths"].values() for operation in methods.values()
)
DAYS = 10


@cache
def operations() -> dict[str, Any]:
    """Those of the schema as it is now, by id. Schemathesis is loaded here: it would cost every run half a second."""
    import schemathesis
    from schemathesis.core.result import Ok

    # Bytes, which Schemathesis knows by another name.
    schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
    found = schemathesis.openapi.from_dict(openapi.document()).get_all_operations()
    return {each.ok().definition.raw["operationId"]: each.ok() for each in found if isinstance(each, Ok)}


@pytest.fixture
def own_request(monkeypatch):
    monkeypatch.setattr("django.test.client.WSGIRequest", Utf8Request)


@pytest.mark.parametrize("name", in_turn(DESCRIBED, DAYS))
def test_each_answer_is_as_the_schema_says(scene, client_of, own_request, name):
    from schemathesis import GenerationMode

    operation = operations()[name]
    known = there(scene, operation)
    # Right requests, and wrong ones where more than the address can be wrong; to unknown addresses only right ones.
    rights, both = [GenerationMode.POSITIVE], list(GenerationMode)
    modes = both if len(operation.query) or len(operation.body) else rights
    for who in WHO:
        client = client_of(who)
        for place, tried in ((known, modes), (None, rights)) if known else ((None, modes),):
            for mode in tried:
                send(operation.as_strategy(mode, path_parameters=place), client)


def send(cases: Any, client: Any) -> None:
    import hypothesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    wanted = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]

    @hypothesis.settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=cases)
    def each(case):
        case.validate_response(answer_to(case, client), checks=wanted)

    each()


def answer_to(case: Any, client: Any) -> Any:
    """Whatever the request changes is undone."""
    from schemathesis import Response

    request = requests.Request(**case.as_transport_kwargs(base_url="https://testserver")).prepare()
    parts = urlsplit(str(request.url))
    body: Any = request.body or b""
    with transaction.atomic():
        answer = client.generic(
            request.method,
            f"{parts.path}?{parts.query}",
            body.encode() if isinstance(body, str) else body,
            content_type=request.headers.get("Content-Type", ""),
            headers={key: value for key, value in request.headers.items() if key not in NOT_SENT},
        )
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        transaction.set_rollback(True)
    headers = {key.lower(): [value] for key, value in answer.items()}
    return Response(answer.status_code, headers, content, request, elapsed=0, verify=False)


def test_schemathesis_reads_all_operations():
    assert sorted(operations()) == DESCRIBED


def there(scene: Any, operation: Any) -> dict[str, Any]:
    """What the scene has at this address."""
    method, path = operation.method.upper(), operation.path
    name = "api:" + str(resolve(re.sub(r"{\w+}", "0", path)).url_name)  # some take a number
    url = scenario.version_for(name, method, scene.url(ROUTES[name], "private"))
    return {key: str(value) for key, value in resolve(url).kwargs.items()}
