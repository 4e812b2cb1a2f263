"""Calls of the API within this process, by the operator `apply`.

What a file asks for passes the gate, the shapes and the verbs like the request of a person, and is audited like it.
"""

import io
import json
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.db import transaction
from django.urls import NoReverseMatch, resolve, reverse

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.api.frame.base import ApiView, Operation
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import Invalid

ACCOUNT = "apply"


class Refused(Invalid):
    """The API has answered with an error."""

    def __init__(self, status: int, said: dict[str, Any]) -> None:
        self.status = status
        message = str(said.get("message", said))
        super().__init__(
            message if message.endswith((".", "?", "!")) else f"{message}.", hint=str(said.get("hint", ""))
        )


class Calls:
    """One run. `method` and address as in the documentation of the API; documents as it answers them."""

    def __init__(self, user: User) -> None:
        self._viewer = Viewer(user)

    def ask(self, method: str, url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the document, empty where the answer has none. Raises Refused."""
        path = unquote(url)  # as a server hands it on: sentences name things as the file does
        data = json.dumps(body).encode() if body is not None else b""
        request = WSGIRequest(
            {
                "REQUEST_METHOD": method,
                "PATH_INFO": path,
                "QUERY_STRING": "",
                "CONTENT_TYPE": "application/json",
                "CONTENT_LENGTH": str(len(data)),
                "HTTP_HOST": settings.PUBLIC_HOST,
                "REMOTE_ADDR": "127.0.0.1",
                "SERVER_NAME": "localhost",
                "SERVER_PORT": "443",
                "wsgi.url_scheme": "https",
                "wsgi.input": io.BytesIO(data),
            }
        )
        # Django REST framework's own way to say who asks; see its APIRequestFactory.
        request._force_auth_user, request._force_auth_token = self._viewer.user, self._viewer  # type: ignore[attr-defined]  # noqa: SLF001
        found = resolve(path)
        response = found.func(request, *found.args, **found.kwargs)
        document = getattr(response, "data", None) or {}
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            raise Refused(response.status_code, _error_of(document))
        return dict(document)


def _error_of(document: Any) -> dict[str, Any]:
    """The error of an answer, in whichever shape its view has."""
    found = document
    while isinstance(found, dict | list) and "message" not in found:
        inner = next(iter(found.values() if isinstance(found, dict) else found), None)
        if not isinstance(inner, dict | list):
            break
        found = inner
    return found if isinstance(found, dict) else {"message": str(document)}


def address(route: str, *names: str) -> str:
    """Return the URL of a route of the API. Raises Invalid for a name that no URL can have."""
    try:
        return reverse(f"api:{route}", args=names)
    except NoReverseMatch:
        raise Invalid(f"{'/'.join(names)[:120]!a} cannot be a name.", hint="Write it as pages show it.") from None


def takes(route: str, names: int, method: str) -> Any:
    """The shape of the body that a call takes: a serializer; None where it takes none, or there is no such call.

    `names`: how many the route has.
    """
    declared = _operation(route, names, method)
    return declared.takes if declared is not None and isinstance(declared.takes, type) else None


@cache
def blank(shape: Any) -> Any:
    """Return one instance of a shape: each copies all of its fields, for thousands of entries."""
    return shape()


@cache
def names_in(shape: Any) -> frozenset[str]:
    return frozenset(blank(shape).fields)


def has(route: str, names: int, method: str) -> bool:
    return _operation(route, names, method) is not None


@cache
def _operation(route: str, names: int, method: str) -> Operation | None:
    if not route:
        return None
    url = address(route, *["0"] * names)  # fits numbers, too
    view: ApiView = resolve(url).func.view_class()  # type: ignore[attr-defined]  # of every route of the API
    return view.operation_of(method)


def operator() -> User:
    """The account by which a file acts. It has no password, and no one signs in as it. Raises Invalid.

    It is made by the first run. A person of that name keeps theirs: then nothing is applied.
    """
    user = User.objects.filter(username=ACCOUNT).first()
    if user is None:
        with transaction.atomic():
            user = User(username=ACCOUNT, is_staff=True, is_superuser=True)
            user.set_unusable_password()
            user.save()
            record(Kind.USER_JOINED, actor_id=None, subject=ACCOUNT, how="manage.py apply")
    if user.has_usable_password() or not (user.is_superuser and user.is_active):
        raise Invalid(
            f"The account {ACCOUNT!r} is that of a person or was disabled; changes of a file are made by it.",
            hint="Rename that account, or enable it as a superuser without a password.",
        )
    return user
