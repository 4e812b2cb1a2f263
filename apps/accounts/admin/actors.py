from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User


def actor_of(request: HttpRequest) -> Viewer:
    assert isinstance(request.user, User)  # noqa: S101  # the admin lets nobody in who is not signed in
    return Viewer(request.user)


def each(verb: Callable[[Any, Viewer], object], done: str) -> Callable[[Any, HttpRequest, QuerySet[Any]], None]:
    """Return the function of an action that calls the verb with each row and the account that asks for it."""

    def run(admin: Any, request: HttpRequest, rows: QuerySet[Any]) -> None:
        actor = actor_of(request)
        admin.apply_verb(request, rows, lambda row: verb(row, actor), done=done)

    return run
