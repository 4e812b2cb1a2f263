"""Compare an answer with the OpenAPI document. A field that the schema does not name fails as well."""

import json
from functools import cache
from typing import Any

from rest_framework.response import Response

from apps.api.frame.base import Operation
from apps.http import api_document


@cache
def document() -> dict[str, Any]:
    found = api_document.document()
    for shape in found["components"]["schemas"].values():
        if "oneOf" not in shape:
            shape["additionalProperties"] = False
    return found


@cache
def operations() -> dict[str, dict[str, Any]]:
    return {one["operationId"]: one for methods in document()["paths"].values() for one in methods.values()}


def compare(method: str, name: str, answer: Any, operation: Operation) -> None:
    if answer.status_code == 304:  # without a body: HTTP itself says what it means
        return
    described = operations()[f"{method.lower()}_{name.replace('-', '_')}"]
    assert str(answer.status_code) in described["responses"], f"{method} {name} answers {answer.status_code}"
    is_good = answer.status_code in operation.answers
    assert is_good or answer.status_code >= 400
    if not isinstance(answer, Response):
        media = answer.headers["Content-Type"].partition(";")[0]
        assert media in described["responses"][str(answer.status_code)]["content"], f"{method} {name} answers {media}"
    if isinstance(answer, Response) and answer.data is not None:
        content = described["responses"][str(answer.status_code)]["content"]["application/json"]["schema"]
        data = json.loads(json.dumps(answer.data))
        from jsonschema import Draft202012Validator  # takes a second, of each run that only collects this folder

        errors = Draft202012Validator({**content, "components": document()["components"]}).iter_errors(data)
        assert not [f"{error.json_path}: {error.message}"[:300] for error in errors]
