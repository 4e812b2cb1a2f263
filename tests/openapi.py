"""`make schema`: write static/api/openapi.json, OpenAPI 3.1, from the operations beside the views of apps/api."""

import json
import sys
import tomllib
from http import HTTPStatus
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.urls import resolve
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import EndpointEnumerator, SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import build_basic_type
from drf_spectacular.settings import patched_settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

PREFIX = "/api/v1"
DESCRIPTION = (
    "Publish and manage what this registry serves. Send an API token as `Authorization: Bearer <token>`; reads of "
    "public namespaces need none. Every error has one shape: a `code` for programs, a `message` and a `hint` for "
    "people; the header `X-Request-Id` names the request in the log. Lists are answered in pages: follow `next`."
)
ERRORS = {
    400: "The body or an address cannot be read.",
    401: "Without a token, or hidden: the same for both.",
    403: "The role or the scope of the token is missing.",
    404: "Unknown, or hidden from this token.",
    409: "It is so already, or something else is in the way.",
    413: "Too large.",
    422: "A value is wrong; the message names it.",
    503: "The database or the storage is away: try again after `Retry-After`.",
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
        name = resolve(self.path.translate({ord("{"): "x", ord("}"): "x"})).url_name or ""
        return f"{self.method.lower()}_{name.replace('-', '_')}"

    def get_summary(self) -> str:
        return str(self._operation.summary)

    def get_description(self) -> str:  # type: ignore[override]  # the base class has arguments that nobody passes
        again = self._operation.again
        return f"A repeated call: {again[0].lower()}{again[1:]}" if again else ""

    def get_tags(self) -> list[str]:
        return [self.path.removeprefix(f"{PREFIX}/").split("/")[0]]

    def get_auth(self) -> list[dict[str, list[str]]]:
        return [{"token": []}] if self.method != "GET" else [{"token": []}, {}]

    def get_override_parameters(self) -> list[Any]:
        return [OpenApiParameter(name, str, description=text) for name, text in self._operation.query.items()]

    def get_request_serializer(self) -> Any:
        takes = self._operation.takes
        return None if isinstance(takes, str) else takes

    def _get_request_body(self, direction: str = "request") -> Any:
        takes = self._operation.takes
        if isinstance(takes, str):
            return {"content": {takes: {"schema": build_basic_type(OpenApiTypes.BINARY)}}, "required": True}
        if takes is None:
            return None
        schema, required = self._get_request_for_media_type(takes, direction)
        return {"content": {"application/json": {"schema": schema}}, "required": required}

    def get_response_serializers(self) -> Any:
        from apps.api.frame.answers import Problem  # needs the apps

        good: dict[int, Any] = {
            status: OpenApiResponse(shape, description=HTTPStatus(status).phrase)
            for status, shape in self._operation.answers.items()
        }
        wrong = {
            status: OpenApiResponse(Problem, description=text) for status, text in ERRORS.items() if self._may(status)
        }
        return good | wrong

    def _may(self, status: int) -> bool:
        if status in (409, 413, 422, 400) and self.method == "GET":
            return status == 422 and bool(self._operation.query)
        return True

    def map_parsers(self) -> list[str]:
        return ["application/json"]

    def map_renderers(self, attribute: str) -> list[str]:  # noqa: ARG002  # spectacular passes it
        return ["application/json"]


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
    return made


def text() -> str:
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    django.setup()
    from apps.api.schema import FILE

    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text())
    sys.stdout.write(f"Wrote {FILE}.\n")
