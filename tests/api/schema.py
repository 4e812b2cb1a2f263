"""Compare an answer with static/api/openapi.json. A field that the schema does not name fails as well."""

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from rest_framework.response import Response

from apps.api.frame.operations import Operation
from apps.api.schema import FILE


@cache
def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    for shape in found["components"]["schemas"].values():
        shape["additionalProperties"] = False
    return found


@cache
def operations() -> dict[str, dict[str, Any]]:
    return {one["operationId"]: one for methods in document()["paths"].values() for one in methods.values()}


def compare(method: str, name: str, answer: Any, operation: Operation) -> None:
    described = operations()[f"{method.lower()}_{name.replace('-', '_')}"]
    assert str(answer.status_code) in described["responses"], f"{method} {name} answers {answer.status_code}"
    is_good = answer.status_code in operation.answers
    assert is_good or answer.status_code >= 400
    if isinstance(answer, Response) and answer.data is not None:
        content = described["responses"][str(answer.status_code)]["content"]["application/json"]["schema"]
        data = json.loads(json.dumps(answer.data))
        errors = Draft202012Validator({**content, "components": document()["components"]}).iter_errors(data)
        assert not [f"{error.json_path}: {error.message}"[:300] for error in errors]
