"""GET /api/v1/schema: OpenAPI 3.1 of all routes. conftest.as_described compares answers with it."""

import html
import re
from pathlib import Path

import pytest
from django.conf import settings

from apps.http import api_document
from apps.releases.catalogue import indexing, search
from tests import openapi, rooms
from tests.house.policy.table import COLUMNS, TABLES, VISIBILITIES

IDS = [Path(__file__).with_name("operation_ids.txt"), *rooms.files("operation_ids.txt")]
WHOLE = {"get_provider_docs"}  # the table of contents of one version
TOKENS = COLUMNS["token"]
MAX_PAGE_CHARACTERS = 400_000  # of the reference: namespaces have a quarter of the endpoints


def test_the_schema_is_what_the_views_say_and_anybody_reads_it(client, db):
    assert api_document.text() == openapi.text(), "run `make schema`"
    answer = client.get("/api/v1/schema")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.json()["openapi"] == "3.1.0"


def test_the_filters_of_rooms_that_are_left_out_are_not_in_it(monkeypatch):
    monkeypatch.setattr(indexing, "room_facets", ())
    api_document.text.cache_clear()

    parameters = api_document.document()["paths"]["/api/v1/modules"]["get"]["parameters"]
    api_document.text.cache_clear()

    values = {one["name"]: one["schema"].get("enum") for one in parameters}
    assert values.keys() == {"cursor", "namespace", "q", "sort", "system"}
    assert set(values["sort"]) == set(search.SORTS)


def test_each_operation_keeps_its_own_id_and_says_what_it_does():
    """Generated clients have methods of these names. A new operation adds its line; none goes and none changes."""
    operations = [one for one, _ in operations_and_tables()]
    ids = [one["operationId"] for one in operations]

    assert len(ids) == len(set(ids)) > 50
    assert set(ids) == {line for part in IDS for line in part.read_text().split()}
    assert all(one["summary"] and one["security"] is not None for one in operations)


def test_every_route_and_method_of_the_policy_is_described():
    described = {one["operationId"] for methods in openapi.document()["paths"].values() for one in methods.values()}
    ours = {name.removeprefix("api:").replace("-", "_"): table for name, table in TABLES.items() if name[:4] == "api:"}

    assert described == {f"{method.lower()}_{name}" for name, table in ours.items() for method in table}


def operations_and_tables():
    """Each operation of the schema with its rows of the policy."""
    tables = {name.removeprefix("api:").replace("-", "_"): table for name, table in TABLES.items()}
    for methods in api_document.document()["paths"].values():
        for method, one in methods.items():
            yield one, tables[one["operationId"].partition("_")[2]][method.upper()]


def answered(table, suffix):
    """Return whether a caller with such a token (or without one) is let in, by the policy."""
    rows = [row for row in (*VISIBILITIES, "any") if row in table]
    cells = [(who, table[row][who]) for row in rows for who in TOKENS]
    return any(who.endswith(suffix) and status not in (401, 403, 404) for who, status in cells)


def test_the_least_scope_is_what_the_policy_lets_in():
    """And an operation says that it needs no token exactly if it answers without one."""
    for one, table in operations_and_tables():
        enough = [scope for scope in ("read", "publish", "manage") if answered(table, f"-{scope}")]
        scopes = [scope for asked in one["security"] for scope in asked.get("token", [])]
        assert scopes in ([], enough[:1]), one["operationId"]
        assert ({} in one["security"]) == answered(table, "nobody"), one["operationId"]
        assert scopes or {} in one["security"]


def test_a_change_says_what_a_repeated_call_does():
    for one, _ in operations_and_tables():
        if not one["operationId"].startswith("get_"):
            assert one["description"].startswith("A repeated call: "), one["operationId"]


def test_every_list_is_answered_in_pages():
    """A GET answers one thing, or a page with `next`, whose address has a cursor."""
    document = api_document.document()
    shapes = document["components"]["schemas"]
    for methods in document["paths"].values():
        for one in (found for method, found in methods.items() if method == "get"):
            content = one["responses"]["200"].get("content", {}).get("application/json", {})
            fields = shapes.get(content.get("schema", {}).get("$ref", "").rpartition("/")[2], {}).get("properties", {})
            lists = [name for name, field in fields.items() if field.get("type") == "array"]
            has_cursor = "cursor" in [given["name"] for given in one.get("parameters", [])]
            assert has_cursor == ("next" in fields), one["operationId"]
            is_list = bool(fields) and len(fields) == len(lists)
            assert has_cursor or not is_list or one["operationId"] in WHOLE, one["operationId"]


@pytest.fixture
def docs(client, db):
    """The pages of the groups, by address, and the index that leads to them."""
    index = client.get("/api/docs").content.decode()
    urls = sorted(set(re.findall(r'href="(/api/docs/[\w-]+)"', index)))
    return index, {url: client.get(url).content.decode() for url in urls}


def test_each_group_has_a_page_with_its_operations_and_all_shapes_that_these_refer_to(docs):
    document, (_, shown) = api_document.document(), docs
    tags: dict[str, set[str]] = {}
    for methods in document["paths"].values():
        for one in methods.values():
            tags.setdefault(f"/api/docs/{one['tags'][0]}", set()).add(one["operationId"])

    assert {url: set(re.findall(r'api-target" id="(\w+)"', page)) for url, page in shown.items()} == tags
    for url, page in shown.items():
        shapes = set(re.findall(r'id="shape-(\w+)"', page))
        assert set(re.findall(r'href="#shape-(\w+)"', page)) <= shapes, url
        assert shapes <= set(document["components"]["schemas"]), url


def test_each_anchor_of_the_time_with_one_page_is_on_the_index_and_leads_to_its_place(docs):
    document, (index, shown) = api_document.document(), docs
    places = re.findall(r'id="([\w-]+)"(?: class="[\w-]+")?>\s*<a[^>]* href="([\w/-]+)#([\w-]+)"', index)
    ids = {one["operationId"] for methods in document["paths"].values() for one in methods.values()}
    assert {anchor for anchor, *_ in places} == ids | {f"shape-{name}" for name in document["components"]["schemas"]}
    for anchor, url, target in places:
        assert anchor == target
        assert f'id="{anchor}"' in shown[url]


def test_no_page_of_the_api_is_heavy(docs):
    index, shown = docs
    assert max(map(len, [index, *shown.values()])) < MAX_PAGE_CHARACTERS


def test_examples_are_commands_with_answers(docs):
    page = html.unescape("".join(docs[1].values()))
    assert "?sort=" in page
    assert f"""-X PATCH -d '{{"breaking_changes": "ask"}}' "{settings.PUBLIC_URL}/api/v1/namespaces/acme\"""" in page
    assert f'"{settings.PUBLIC_URL}/api/v1/modules?q=vpc&sort=updated"' in page
    assert f'--upload-file FILE "{settings.PUBLIC_URL}/api/v1/modules/acme/vpc/aws/2.0.0"' in page
    assert '"quota": {\n  "bytes": null,\n  "versions": null\n }' in page
