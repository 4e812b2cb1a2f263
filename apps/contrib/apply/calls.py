"""Calls of the API within this process, by the operator `apply`.

What a file asks for passes the gate, the shapes and the verbs like the request of a person, and is audited like it.
"""

import io
import json
from collections.abc import Iterator
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

    def get(self, url: str) -> dict[str, Any] | None:
        """Return the document; None where there is none."""
        try:
            return self.ask("GET", url)
        except Refused as refused:
            if refused.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def rows(self, url: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a list, whatever their number."""
        following: str | None = url
        while following:
            page = self.ask("GET", following)
            following = page.pop("next", None)
            yield from next(value for value in page.values() if isinstance(value, list))

    def ask(self, method: str, url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the document, empty where the answer has none. Raises Refused."""
        quoted, _, query = url.partition("?")
        path = unquote(quoted)  # as a server hands it on: sentences name things as the file does
        data = json.dumps(body).encode() if body is not None else b""
        request = WSGIRequest(
            {
                "REQUEST_METHOD": method,
                "PATH_INFO": path,
                "QUERY_STRING": query,
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


def takes(url: str, method: str) -> Any:
    """The shape of the body that a call takes: a serializer; None where it takes none, or there is no such call."""
    declared = _operation(url, method)
    return declared.takes if declared is not None and isinstance(declared.takes, type) else None


@cache
def fields_in(shape: Any) -> dict[str, Any]:
    """Return the fields of a shape by name. Each instance of it copies all of them, for thousands of entries."""
    return dict(shape().fields)


@cache
def names_in(shape: Any) -> frozenset[str]:
    return frozenset(fields_in(shape))


def has(url: str, method: str) -> bool:
    return _operation(url, method) is not None


def _operation(url: str, method: str) -> Operation | None:
    view: ApiView = resolve(unquote(url)).func.view_class()  # type: ignore[attr-defined]  # of every route of the API
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
