"""/api/docs: the OpenAPI document as one page, made on the server: the strict policy allows no renderer's styles."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from apps.http import api_document


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    shape: str  # to link to
    text: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class Endpoint:
    tag: str
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
    def curl(self) -> str:
        body = {"": "", "JSON": f" -d {shlex.quote(self.body or '{…}')}"}.get(self.takes, " --upload-file FILE")
        verb = "" if self.method == "GET" or ("upload" in body and self.method == "PUT") else f" -X {self.method}"
        return f'curl -H "Authorization: Bearer $TOKEN"{verb}{body} "{settings.PUBLIC_URL}{self.address}"'


@login_not_required
@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    document, groups, shapes = _read()
    lead, *basics = document["info"]["description"].replace("`", "").split("\n\n")
    context = {"lead": lead, "basics": [one.removeprefix("**").split(".** ", 1) for one in basics]}
    context |= {"groups": groups, "shapes": shapes}
    return render(request, "portal/api_docs/page.html", context)


@cache
def _read() -> tuple[dict[str, Any], list[tuple[str, list[Endpoint]]], list[tuple[str, list[Field]]]]:
    document = api_document.document()
    groups = [(tag, list(endpoints)) for tag, endpoints in groupby(_endpoints(document), key=lambda one: one.tag)]
    shapes = []
    for name, shape in document["components"]["schemas"].items():
        required = shape.get("required", [])
        fields = [Field("one of", *_type_of(one), "", is_required=True) for one in shape.get("oneOf", [])] or [
            Field(field, *_type_of(schema), schema.get("description", ""), field in required)
            for field, schema in shape.get("properties", {}).items()
        ]
        shapes.append((name, fields))
    return document, groups, shapes


def _endpoints(document: dict[str, Any]) -> Iterator[Endpoint]:
    for place, methods in document["paths"].items():
        for method, one in methods.items():
            content = one.get("requestBody", {}).get("content", {})
            media: str = next(iter(content), "")
            body: dict[str, Any] = content.get(media, {})
            yield Endpoint(
                tag=one["tags"][0],
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


urlpatterns = [path("api/docs", api_docs, name="api-docs")]
