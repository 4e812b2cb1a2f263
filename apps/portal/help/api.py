"""/api/docs: the OpenAPI document as an index and one page per group of endpoints.

They are made on the server: the strict policy allows no renderer's styles.
"""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_safe

from apps.http import api_document
from apps.http.api_document import shapes_of
from apps.lib.errors import NotFound
from apps.lib.text.search_terms import begins_a_part


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    shape: str  # to link to
    text: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class Endpoint:
    id: str
    method: str
    path: str
    summary: str
    description: str
    query: list[Field]
    takes: str
    shape_taken: str
    answers: list[tuple[str, str, str]]  # status, text, shape
    scope: str
    is_public: bool
    is_idempotent: bool
    address: str  # of the example: the path with its values, and the query
    body: str  # of the example
    answer: str  # to the example

    @property
    def text(self) -> str:
        """All that a search looks at, in lower case."""
        return f"{self.method} {self.path} {self.summary} {self.description}".casefold()

    @property
    def curl(self) -> str:
        body = {"": "", "JSON": f" -d {shlex.quote(self.body or '{…}')}"}.get(self.takes, " --upload-file FILE")
        verb = "" if self.method == "GET" or ("upload" in body and self.method == "PUT") else f" -X {self.method}"
        return f'curl -H "Authorization: Bearer $TOKEN"{verb}{body} "{settings.PUBLIC_URL}{self.address}"'


@dataclass(frozen=True, slots=True)
class Group:
    """The endpoints of one part of the API, and the shapes that they take and answer with: one page."""

    name: str
    endpoints: list[Endpoint]
    shapes: list[tuple[str, list[Field]]]

    @property
    def title(self) -> str:
        return self.name.replace("-", " ").capitalize()

    @property
    def url(self) -> str:
        return reverse("portal:api-docs-group", args=[self.name])


@login_not_required
@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """All groups with their endpoints and shapes as links, each under the anchor that it has on its page."""
    lead, *basics = api_document.document()["info"]["description"].replace("`", "").split("\n\n")
    shown = {name: group for group in reversed(groups()) for name, _ in group.shapes}
    context = {
        "lead": lead,
        "basics": [one.removeprefix("**").split(".** ", 1) for one in basics],
        "groups": groups(),
        "shapes": sorted(shown.items()),
    }
    return render(request, "portal/docs/api.html", context)


@login_not_required
@require_safe
def api_group(request: HttpRequest, group: str) -> HttpResponse:
    found = next((one for one in groups() if one.name == group), None)
    if found is None:
        raise NotFound(f"The API has no group called {group}.", hint="See the list of groups.")
    return render(request, "portal/docs/api_group.html", {"group": found, "groups": groups()})


def find(words: list[str]) -> list[tuple[Group, Endpoint]]:
    """Return endpoints that have each word in their method, path, summary or description."""
    return [
        (group, endpoint)
        for group in groups()
        for endpoint in group.endpoints
        if all(begins_a_part(word, endpoint.text) for word in words)
    ]


@cache
def groups() -> list[Group]:
    document = api_document.document()
    schemas = document["components"]["schemas"]
    shapes = {name: _fields_of(schema) for name, schema in schemas.items()}
    by_tag: dict[str, dict[str, Any]] = {}
    for place, methods in document["paths"].items():
        by_tag.setdefault(next(iter(methods.values()))["tags"][0], {})[place] = methods
    return [
        Group(tag, list(_endpoints(paths)), [(name, shapes[name]) for name in sorted(shapes_of(paths, schemas))])
        for tag, paths in sorted(by_tag.items())
    ]


def _fields_of(schema: dict[str, Any]) -> list[Field]:
    required = schema.get("required", [])
    return [Field("one of", *_type_of(one), "", is_required=True) for one in schema.get("oneOf", [])] or [
        Field(field, *_type_of(value), value.get("description", ""), field in required)
        for field, value in schema.get("properties", {}).items()
    ]


def _endpoints(paths: dict[str, Any]) -> Iterator[Endpoint]:
    for place, methods in paths.items():
        for method, one in methods.items():
            content = one.get("requestBody", {}).get("content", {})
            media: str = next(iter(content), "")
            body: dict[str, Any] = content.get(media, {})
            yield Endpoint(
                id=one["operationId"],
                method=method.upper(),
                path=place,
                summary=one["summary"],
                description=one.get("description", "").replace("`", ""),
                query=[
                    Field(
                        given["name"], _type_of(given["schema"])[0], "", given.get("description", ""), is_required=False
                    )
                    for given in one.get("parameters", [])
                    if given["in"] == "query"
                ],
                takes={"": "", "application/json": "JSON"}.get(media, "the bytes"),
                shape_taken=_shape_of(body.get("schema", {})),
                answers=[
                    (status, answer["description"].replace("`", ""), _shape_of(_schema_of(answer)))
                    for status, answer in one["responses"].items()
                ],
                scope=next((scope for asked in one["security"] for scope in asked.get("token", [])), ""),
                is_public={} in one["security"],
                is_idempotent=one["x-idempotent"],
                address=_address(place, one.get("parameters", [])),
                body=_example(body),
                answer=next(
                    filter(None, (_example(_json_of(answer), indent=1) for answer in one["responses"].values())), ""
                ),
            )


def _address(place: str, parameters: list[dict[str, Any]]) -> str:
    """The path with the examples of its parameters, {name} for one without, and the example of the query."""
    for given in parameters:
        if given["in"] == "path" and "example" in given:
            place = place.replace(f"{{{given['name']}}}", str(given["example"]))
    query = {given["name"]: given["example"] for given in parameters if given["in"] == "query" and "example" in given}
    return f"{place}?{urlencode(query, safe=':')}" if query else place


def _example(content: dict[str, Any], indent: int | None = None) -> str:
    value = next((one["value"] for one in content.get("examples", {}).values()), None)
    return json.dumps(value, indent=indent, ensure_ascii=False) if value is not None else ""


def _json_of(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer.get("content", {}).get("application/json", {})
    return found


def _schema_of(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _json_of(answer).get("schema", {})
    return found


def _shape_of(schema: dict[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _type_of(schema: dict[str, Any]) -> tuple[str, str]:
    """The type in words, and the shape that it refers to."""
    options = schema.get("oneOf") or schema.get("anyOf") or schema.get("allOf") or [schema]
    names, shapes = [], []
    for one in options:
        items = one.get("items", {})
        shapes.append(_shape_of(one) or _shape_of(items))
        kinds = one.get("type", "")
        words = kinds if isinstance(kinds, list) else [kinds]
        chosen = [str(value) for value in one.get("enum", []) if value is not None]
        if "array" in words:
            names.append(f"list of {_shape_of(items) or items.get('type', 'anything')}")
        elif chosen:
            names.append(" | ".join(chosen) + (" | null" if "null" in words else ""))
        else:
            names.append(_shape_of(one) or " or ".join(filter(None, words)) or "anything")
    return " or ".join(names), next(filter(None, shapes), "")


urlpatterns = [
    path("api/docs", api_docs, name="api-docs"),
    path("api/docs/<slug:group>", api_group, name="api-docs-group"),
]
