"""No one changes anything in a demonstration: each write of each route of the URL configuration is refused"""

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import NoReverseMatch, reverse

from apps.accounts.models import User
from apps.audit.models import AuditEvent
from apps.contrib.demo.notice import READ_ONLY
from apps.jobs.models import Job
from tests.house.routes import METHODS, all_routes

pytestmark = pytest.mark.django_db

OTHERS = [method for method in METHODS if method not in {"GET", "POST"}]
VALUES = ("1", str(uuid.UUID(int=7)), "module", "signing")
NOTHING = "protocol:providers"  # says of every method that there is nothing


def urls() -> dict[str, str]:
    """The address of each route by its name, with arguments that its pattern takes."""
    found = {}
    for route in all_routes():
        for value in VALUES:
            try:
                found[str(route.name)] = reverse(str(route.name), kwargs=dict.fromkeys(route.arguments, value))
            except NoReverseMatch:
                continue
            break
    return found


def test_every_named_route_has_an_address_here() -> None:
    named = {route.name for route in all_routes() if route.name}

    assert named - urls().keys() == set()
    assert len(named) > 400


def test_every_write_of_every_route_is_refused_with_the_sentence(demonstration) -> None:
    """POST, and one of the other methods by turns: none is told apart by its route."""
    User.objects.create_user("maya")
    visitor = Client(enforce_csrf_checks=True, raise_request_exception=True)
    before = AuditEvent.objects.count(), Job.objects.count()

    said = {}
    for number, (name, url) in enumerate(urls().items()):
        for method in ("POST", OTHERS[number % len(OTHERS)]):
            answer = visitor.generic(method, url, b"{}", content_type="application/json")
            said[f"{method} {name}"] = (answer.status_code, READ_ONLY in answer.content.decode())

    assert {entry: answer for entry, answer in said.items() if answer != (403, True)} == {
        entry: (404, False) for entry in said if entry.endswith(f" {NOTHING}")
    }
    assert len(said) > 800
    assert (AuditEvent.objects.count(), Job.objects.count()) == before


@pytest.mark.parametrize("name", ["portal:publish", "api:namespaces", "account_login"])
def test_elsewhere_a_write_is_answered_as_ever(name: str) -> None:
    answer = Client().post(reverse(name), b"{}", content_type="application/json")

    assert READ_ONLY not in answer.content.decode()


@pytest.mark.parametrize(
    ("method", "url", "shape"),
    [
        ("PUT", "/api/v1/namespaces/acme", '{"error":{"code":"forbidden"'),
        ("POST", "/v2/acme/vpc/blobs/uploads/", '{"errors":[{"code":"DENIED"'),
        ("POST", "/oauth/token", '{"error":'),
        ("POST", "/account/login/", "<!doctype html>"),
        ("POST", "/admin/login/", "<!doctype html>"),
    ],
)
def test_each_kind_of_client_reads_the_refusal_in_its_own_form(
    demonstration, method: str, url: str, shape: str
) -> None:
    answer = Client().generic(method, url, b"{}", content_type="application/json")

    assert (answer.status_code, answer.content.decode().strip()[: len(shape)]) == (403, shape)


def test_a_body_of_any_size_is_not_read(demonstration) -> None:
    """An upload is refused before its first byte: it need not fit into a disk."""

    class Body:
        def read(self, *_: int) -> bytes:
            raise AssertionError("read")

        readline = read

    environ: dict[str, Any] = {"wsgi.input": Body(), "CONTENT_LENGTH": str(10**12)}
    answer = Client().generic("PUT", "/api/v1/modules/acme/vpc/aws/1.0.0", b"", **environ)

    assert (answer.status_code, READ_ONLY in answer.content.decode()) == (403, True)
