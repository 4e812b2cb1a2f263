"""The OpenAPI document of the API, as this Larder answers it.

`make schema` writes the file with every room. Where a room is left out, its operations have no route: the document
leaves them out, the parameters and values that it adds to others, and the shapes that nothing else refers to.
"""

import json
import re
from functools import cache
from typing import Any

from django.conf import settings
from django.urls import Resolver404, ResolverMatch, resolve

_REFERENCE = re.compile(r'"\$ref": "#/components/schemas/(\w+)"')


@cache
def text() -> str:
    whole: str = settings.OPENAPI_FILE.read_text()
    made = json.loads(whole)
    here = {
        path: {method: _as_here(path, method, one) for method, one in methods.items()}
        for path, methods in made["paths"].items()
        if _has_route(path, methods)
    }
    if here == made["paths"]:
        return whole
    shapes = made["components"]["schemas"]
    used = shapes_of(here, shapes)
    made["paths"] = here
    made["components"]["schemas"] = {name: shape for name, shape in shapes.items() if name in used}
    return written(made)


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text())
    return found


def written(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def operation_id(method: str, path: str) -> str:
    """Return the id of what answers there: the method, and the name of its URL."""
    return f"{method.lower()}_{(_route(path).url_name or '').replace('-', '_')}"


def _route(path: str) -> ResolverMatch:
    return resolve(re.sub(r"{\w+}", "0", path))  # some take a number


def _as_here(path: str, method: str, described: dict[str, Any]) -> dict[str, Any]:
    """The operation with the parameters of the query, and those of their values, that its view knows here."""
    view: Any = _route(path).func
    declared = view.cls(**view.initkwargs).operation_of(method)
    parameters = []
    for one in described.get("parameters", []):
        name, schema = one["name"], one["schema"]
        if one["in"] == "query" and name not in declared.query:
            continue
        if one["in"] == "query" and "enum" in schema:
            schema = {**schema, "enum": [value for value in schema["enum"] if value in declared.choices[name]]}
        parameters.append({**one, "schema": schema})
    return {**described, "parameters": parameters} if parameters else described


def _has_route(path: str, methods: dict[str, Any]) -> bool:
    try:
        return all(one["operationId"] == operation_id(method, path) for method, one in methods.items())
    except Resolver404:
        return False


def shapes_of(paths: dict[str, Any], shapes: dict[str, Any]) -> set[str]:
    """Return the names of the shapes that these refer to, and of those that these shapes refer to in turn."""
    used: set[str] = set()
    found = set(_REFERENCE.findall(json.dumps(paths)))
    while found:
        used |= found
        found = set(_REFERENCE.findall(json.dumps([shapes[name] for name in found]))) - used
    return used
