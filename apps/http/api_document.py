"""The OpenAPI document of the API, as this Larder answers it.

`make schema` writes the file with every room. Where a room is left out, its operations have no route: the document
leaves them out, and the shapes that nothing else refers to.
"""

import json
import re
from functools import cache
from typing import Any

from django.conf import settings
from django.urls import Resolver404, resolve

_REFERENCE = re.compile(r'"\$ref": "#/components/schemas/(\w+)"')


@cache
def text() -> str:
    whole: str = settings.OPENAPI_FILE.read_text()
    made = json.loads(whole)
    here = {path: methods for path, methods in made["paths"].items() if _has_route(path, methods)}
    if len(here) == len(made["paths"]):
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
    name = resolve(re.sub(r"{\w+}", "0", path)).url_name or ""  # some take a number
    return f"{method.lower()}_{name.replace('-', '_')}"


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
