"""Bodies that are gathered: their limit in each dialect on any WSGI server, and files in ordinary forms."""

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import get_resolver

from apps.lib.net import bodies
from tests import rooms
from tests.house.routes import METHODS, all_routes
from tests.rows import for_each_row

LARGE = b"x" * (settings.JSON_MAX_BYTES + 1)


def page(text: str) -> bool:
    return "<!doctype html>" in text.lower() and "json_max_bytes of LARDER_LIMITS" in text


def api(text: str) -> bool:
    return bool(json.loads(text)["error"]["code"] == "too_large")


def oci(text: str) -> bool:
    return bool(json.loads(text)["errors"][0]["code"] == "SIZE_INVALID")


def protocol(text: str) -> bool:
    return "json_max_bytes of LARDER_LIMITS" in json.loads(text)["errors"][0]


@for_each_row(
    ("method", "path", "is_dialect"),
    [
        ("POST", "/account/login/", page),
        ("POST", "/theme", page),
        ("POST", "/admin/login/", page),
        ("PUT", "/api/v1/namespaces/acme", api),
        ("POST", "/api/v1/providers/acme/box/1.0.0", api),
        ("POST", "/v2/token", oci),
        ("DELETE", "/v2/acme/vpc/aws/manifests/1.0.0", oci),
        ("POST", "/v1/modules/acme/vpc/aws/versions", protocol),
    ],
)
@for_each_row("content_type", ["multipart/form-data; boundary=x", "application/octet-stream"])
def test_a_body_that_is_too_large_is_refused_in_the_dialect_of_its_edge(
    client: Client,
    alice: Any,
    bearer: Callable[..., dict[str, str]],
    method: str,
    path: str,
    is_dialect: Callable[[str], bool],
    content_type: str,
) -> None:
    headers = {} if path == "/v2/token" else bearer(alice)
    answer = client.generic(method, path, LARGE, content_type=content_type, headers=headers)

    assert answer.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert is_dialect(answer.content.decode()), answer.content[:300]


@for_each_row("path", ["/account/login/", "/theme", "/admin/login/"])
def test_a_form_that_takes_no_file_says_so(client: Client, db: None, path: str) -> None:
    answer = client.post(path, {"username": "alice", "password": SimpleUploadedFile("a.txt", b"x")})

    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert "This form does not accept a file." in answer.content.decode()


def test_a_form_is_read_as_ever(client: Client, db: None) -> None:
    answer = client.post("/theme", {"theme": "dark", "next": "/"})  # multipart, as Django's client sends it

    assert answer.status_code == HTTPStatus.FOUND


STREAMED = {
    ("PUT", "api:module-release"),
    ("PUT", "api:provider-file"),
    ("PUT", "api:provider-docs"),
    ("POST", "api:module-attestations"),
    ("POST", "api:provider-attestations"),
    ("POST", "oci:uploads"),
    ("PATCH", "oci:upload"),
    ("PUT", "oci:upload"),
    ("PUT", "oci:manifest"),
    ("PATCH", "api:upload"),
    ("PATCH", "portal:upload"),
    ("PATCH", "portal:release-file"),
    ("PUT", "portal:upload"),
    ("POST", "portal:upload"),
    ("PUT", "portal:release-file"),
    ("POST", "portal:release-files"),
    ("POST", "portal:provider-docs-archive"),
    ("POST", "portal:provider-lifecycle-signature"),
}


def test_these_routes_alone_read_their_body_as_it_comes() -> None:
    """Each of them counts what comes, and asks who sends it before it reads. Every other body has one limit."""
    views = dict(_views(get_resolver(), ""))
    assert {route.name for route in all_routes() if route.name} <= views.keys() | {None}
    found = {(method, name) for name, view in views.items() for method in METHODS if bodies.is_streamed(view, method)}

    assert found == STREAMED | set(rooms.entries("STREAMED"))


def _views(resolver: Any, namespace: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for entry in resolver.url_patterns:
        if hasattr(entry, "url_patterns"):
            found += _views(entry, f"{namespace}{entry.namespace}:" if entry.namespace else namespace)
        else:
            found.append((f"{namespace}{entry.name}", entry.callback))
    return found
