"""The JSON schema of the file (draft 2020-12), made of the API's own document, so that both have the same words."""

import json
from typing import Any

from django.conf import settings

from apps.contrib.apply.document import PRUNE, REFERENCES, Entry, shapes_of
from apps.contrib.apply.reading import kinds
from apps.lib.errors import Invalid
from apps.room import Described


def document() -> dict[str, Any]:
    api = json.loads((settings.BASE_DIR / "static" / "api" / "openapi.json").read_text())
    known = api["components"]["schemas"]
    used: dict[str, Any] = {}
    top = _level("", known, used)
    words = sorted(set(_words("")))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A file for `manage.py apply` of Larder",
        "type": "object",
        "additionalProperties": False,
        "properties": top | {PRUNE: {"type": "array", "items": {"enum": words}}},
        "$defs": used,
    }


def _words(within: str) -> list[str]:
    return [word for kind in kinds(within) for word in ([] if kind.is_only else [kind.word]) + _words(kind.word)]


def _level(within: str, known: dict[str, Any], used: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for kind in kinds(within):
        one = _one(kind, known, used)
        found[kind.word] = one if kind.is_only else {"type": "array", "items": one}
    return found


def _one(kind: Described, known: dict[str, Any], used: dict[str, Any]) -> dict[str, Any]:
    names = [] if kind.is_only or kind.is_numbered else list(kind.one)
    parents = {"namespaces": ("acme",), "teams": ("acme",), "upstreams": ("registry.example.com",)}.get(kind.within, ())
    entry = Entry(kind, kind.word, parents, "acme" if names else "", names[0] if names else "", {})
    try:
        shapes = shapes_of(entry)
    except Invalid:
        shapes = []
    fields: dict[str, Any] = {}
    for shape in shapes:
        fields |= _resolved(_schema_of(shape.__name__, known), known, used).get("properties", {})
    fields |= {name: {"type": "string"} for name in names} | _level(kind.word, known, used)
    described: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": fields}
    if len(names) == 1:
        described["required"] = names
        return {"anyOf": [{"type": "string"}, described]}
    return described


def _schema_of(name: str, known: dict[str, Any]) -> dict[str, Any]:
    for one in (name, f"{name}Input", f"Patched{name}", name.removesuffix("Serializer")):
        if one in known:
            return dict(known[one])
    return {}


def _resolved(value: Any, known: dict[str, Any], used: dict[str, Any]) -> Any:
    """The schema with its references below `$defs`, and secrets that may be references."""
    if isinstance(value, list):
        return [_resolved(one, known, used) for one in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, inner in value.items():
        if key.startswith("x-"):
            continue
        if key == "$ref" and isinstance(inner, str):
            name = inner.rpartition("/")[2]
            if name not in used:
                used[name] = {}  # it may refer to itself
                used[name] = _resolved(known[name], known, used)
            found[key] = f"#/$defs/{name}"
        else:
            found[key] = _resolved(inner, known, used)
    if found.get("type") == "string" and "enum" not in found:
        reference = {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": False}
        return {"anyOf": [found, reference | {"properties": {name: {"type": "string"} for name in REFERENCES}}]}
    return found
