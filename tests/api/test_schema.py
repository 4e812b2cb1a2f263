"""GET /api/v1/schema: OpenAPI 3.1 of all routes. conftest.as_described compares answers with it."""

import json
import re

from apps.api.schema import FILE
from tests import openapi
from tests.house.policy.table import TABLES


def test_the_schema_is_what_the_views_say():
    assert FILE.read_text() == openapi.text(), "run `make schema`"


def test_anybody_reads_it(client, db):
    answer = client.get("/api/v1/schema")

    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.json()["openapi"] == "3.1.0"


def test_each_operation_has_its_own_id_and_says_what_it_does():
    operations = [one for methods in json.loads(FILE.read_text())["paths"].values() for one in methods.values()]

    ids = [one["operationId"] for one in operations]
    assert len(ids) == len(set(ids)) > 50
    assert all(one["summary"] and one["security"] is not None for one in operations)


def test_every_route_and_method_of_the_policy_is_described():
    described = {one["operationId"] for methods in openapi.document()["paths"].values() for one in methods.values()}
    ours = {name.removeprefix("api:").replace("-", "_"): table for name, table in TABLES.items() if name[:4] == "api:"}

    assert described == {f"{method.lower()}_{name}" for name, table in ours.items() for method in table}


def test_the_page_shows_every_operation_and_links_to_every_shape(client, db):
    document, page = json.loads(FILE.read_text()), client.get("/api/docs").content.decode()
    ids = {one["operationId"] for methods in document["paths"].values() for one in methods.values()}

    assert set(re.findall(r'<details class="disclosure" id="(\w+)">', page)) == ids
    assert set(re.findall(r'id="shape-(\w+)"', page)) == set(document["components"]["schemas"])
    assert set(re.findall(r'href="#shape-(\w+)"', page)) <= set(document["components"]["schemas"])
    assert "?sort=" in page
