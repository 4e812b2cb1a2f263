"""`make schema`: write static/api/openapi.json, OpenAPI 3.1, from the operations beside the views of apps/api."""

import json
import sys
import tomllib
from http import HTTPStatus
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import EndpointEnumerator, SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import build_basic_type
from drf_spectacular.settings import patched_settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, PolymorphicProxySerializer

from apps.http import api_document
from apps.lib.settings_values.rates import variable_of
from tests import rooms

PREFIX = "/api/v1"
EXAMPLES = Path(__file__).with_name("examples.json")  # of the core; those of a room lie in its tests
DESCRIPTION = (
    "Publish and manage what this registry serves.\n\n"
    "**Sign in.** Send an API token as `Authorization: Bearer <token>`. Reading public namespaces needs no token.\n\n"
    "**Scopes.** Each call states the smallest scope that its token needs (`security`). Larder also checks your "
    "role.\n\n"
    "**Errors.** Each error has a `code` for programs, and a `message` and a `hint` for people. The header "
    "`X-Request-Id` "
    "identifies the request in the log.\n\n"
    "**Lists.** Long lists have several pages: follow `next`.\n\n"
    "**Retries.** Repeat an idempotent call (`x-idempotent`) if you got no response: the outcome is the same. So is "
    "the "
    "response, except for 200 instead of 201 or 202, and 404 for what a DELETE has already removed."
)
ERRORS = {
    400: "The body or an address is invalid.",
    401: "The token is missing or invalid. Unknown and hidden names get the same answer.",
    403: "The role or the scope of the token is missing.",
    404: "It does not exist, or the token cannot see it.",
    409: "Already done, or it conflicts with the current state.",
    413: "The body is too large.",
    422: "A value is wrong; the message names it.",
    503: "The database or the storage is unavailable. Try again after `Retry-After`.",
}


def _generator() -> type[SchemaGenerator]:
    class Endpoints(EndpointEnumerator):
        def should_include_endpoint(self, path: str, callback: Any) -> bool:
            return path.startswith(f"{PREFIX}/") and hasattr(callback.cls, "operation_of")

        def get_allowed_methods(self, callback: Any) -> list[str]:
            view = callback.cls(**callback.initkwargs)
            return [method for method in ("GET", "POST", "PUT", "PATCH", "DELETE") if view.operation_of(method)]

    class Generator(SchemaGenerator):
        endpoint_inspector_cls = Endpoints

        def create_view(self, callback: Any, method: str, request: Any = None) -> Any:
            view = super().create_view(callback, method, request)
            view.schema = Operations()
            view.schema.view = view
            return view

    return Generator


class Operations(AutoSchema):
    """Asks the view's operation instead of guessing."""

    @property
    def _operation(self) -> Any:
        view: Any = self.view
        return view.operation_of(self.method)

    def get_operation_id(self) -> str:
        return api_document.operation_id(self.method, self.path)

    def get_summary(self) -> str:
        return str(self._operation.summary)

    def get_description(self) -> str:  # type: ignore[override]  # the base class has arguments that nobody passes
        again = self._operation.again
        return f"A repeated call: {again[0].lower()}{again[1:]}" if again else ""

    def get_extensions(self) -> dict[str, bool]:
        return {"x-idempotent": self.method == "GET" or self._operation.idempotent}

    def get_tags(self) -> list[str]:
        return [self.path.removeprefix(f"{PREFIX}/").split("/")[0]]

    def get_auth(self) -> list[dict[str, list[str]]]:
        asked: list[dict[str, list[str]]] = [{"token": [self._operation.scope]}] if self._operation.scope else []
        return [*asked, {}] if self._operation.public else asked

    def get_override_parameters(self) -> list[Any]:
        operation = self._operation
        choices = self._operation.choices
        return [
            *(
                OpenApiParameter(name, str, description=text, enum=list(choices.get(name, ())) or None)
                for name, text in operation.query.items()
            ),
            *(OpenApiParameter(name, str, "header", description=text) for name, text in operation.headers.items()),
        ]

    def get_request_serializer(self) -> Any:
        takes = self._operation.takes
        return None if isinstance(takes, str) else takes

    def _get_request_body(self, direction: str = "request") -> Any:
        takes = self._operation.takes
        if isinstance(takes, str):
            kind = OpenApiTypes.OBJECT if takes.endswith("json") else OpenApiTypes.BINARY
            return {"content": {takes: {"schema": build_basic_type(kind)}}, "required": True}
        if takes is None:
            return None
        schema, required = self._get_request_for_media_type(takes, direction)
        return {"content": {"application/json": {"schema": schema}}, "required": required}

    def get_response_serializers(self) -> Any:
        from apps.api.frame.shapes import Problem  # needs the apps

        good: dict[Any, Any] = {
            status: OpenApiResponse(_one_of(shape) or self._no_shape(), description=HTTPStatus(status).phrase)
            for status, shape in self._operation.answers.items()
        }
        usual = {status: text for status, text in ERRORS.items() if self._may(status)}
        errors = dict(self._operation.errors)
        if limits := self._limits():
            errors[429] = " ".join([*limits, errors[429]] if 429 in errors else limits)
        for media in self._operation.files:
            kind = OpenApiTypes.OBJECT if media.endswith("json") else OpenApiTypes.STR
            good[200, media] = OpenApiResponse(kind, description=HTTPStatus.OK.phrase)
        wrong = {status: OpenApiResponse(Problem, description=text) for status, text in (usual | errors).items()}
        return good | wrong

    def _limits(self) -> list[str]:
        """Return the limits that the operation counts against, for its answer 429."""
        from apps.accounts.access.throttling import COUNTED  # needs the apps

        return [
            f"Too many {COUNTED[group]} (`{variable_of(group)}`): try again after `Retry-After`."
            for group in self._operation.limits
        ]

    def _no_shape(self) -> Any:
        """Of the schema itself, the one read that has none."""
        return OpenApiTypes.OBJECT if self.method == "GET" else None

    def _may(self, status: int) -> bool:
        if status in (409, 413, 422, 400) and self.method == "GET":
            return status == 422 and (bool(self._operation.query) or "{" in self.path)
        return True

    def map_parsers(self) -> list[str]:
        return ["application/json"]

    def map_renderers(self, attribute: str) -> list[str]:  # noqa: ARG002  # spectacular passes it
        return ["application/json"]


def _one_of(shape: Any) -> Any:
    """A tuple of shapes as one."""
    if not isinstance(shape, tuple):
        return shape
    name = "Or".join(one.__name__ for one in shape)
    return PolymorphicProxySerializer(name, serializers=list(shape), resource_type_field_name=None)


def document() -> dict[str, Any]:
    version = tomllib.loads(Path(settings.BASE_DIR, "pyproject.toml").read_text())["project"]["version"]
    spectacular = {
        "TITLE": "Larder",
        "DESCRIPTION": DESCRIPTION,
        "VERSION": version,
        "OAS_VERSION": "3.1.0",
        "SERVERS": [{"url": "/"}],
        "SCHEMA_PATH_PREFIX": PREFIX,
        "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
        "POSTPROCESSING_HOOKS": [],
        "APPEND_COMPONENTS": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }
    with patched_settings(spectacular):
        made: dict[str, Any] = _generator()().get_schema(public=True)
    assert not GENERATOR_STATS, "drf-spectacular could not describe something"
    _add_examples(made)
    return made


def _add_examples(made: dict[str, Any]) -> None:
    """Those that tests/house/test_examples.py has sent."""
    sent = examples()
    for operation in (one for methods in made["paths"].values() for one in methods.values()):
        example = sent.get(operation["operationId"], {"path": {}})
        values = example["path"] | example.get("query", {})
        for parameter in operation.get("parameters", []):
            if parameter["name"] in values:
                parameter["example"] = values[parameter["name"]]
        answered = operation["responses"].get(str(example.get("status")), {})
        for part, name in ((operation.get("requestBody", {}), "body"), (answered, "answer")):
            content = part.get("content", {}).get("application/json")
            if content and name in example:
                content["examples"] = {"sent": {"value": example[name]}}


def examples() -> dict[str, Any]:
    return {name: one for file in (EXAMPLES, *rooms.files(EXAMPLES.name)) for name, one in _read(file).items()}


def record(sent: dict[str, Any]) -> None:
    """Write each example where the row of its route lies."""
    rest = dict(sent)
    for policy in rooms.files("policy.toml"):
        routes = tomllib.loads(policy.read_text())["route"]
        own = {id_of(name, method) for name, methods in routes.items() for method in methods} & rest.keys()
        if own:
            _write(policy.with_name(EXAMPLES.name), {name: rest.pop(name) for name in sent if name in own})
    _write(EXAMPLES, rest)


def id_of(name: str, method: str) -> str:
    return f"{method.lower()}_{name.removeprefix('api:').replace('-', '_')}"


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def _write(file: Path, sent: dict[str, Any]) -> None:
    file.write_text(api_document.written(sent))


def text() -> str:
    return api_document.written(document())


if __name__ == "__main__":
    django.setup()
    file = settings.OPENAPI_FILE
    file.parent.mkdir(exist_ok=True)
    file.write_text(text())
    sys.stdout.write(f"Wrote {file}.\n")
