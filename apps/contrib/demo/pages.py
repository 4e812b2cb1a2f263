"""No one changes anything in a demonstration, and every visitor reads with the rights of one person."""

from collections.abc import Callable
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.functional import SimpleLazyObject

from apps.accounts.models import User
from apps.contrib.demo.notice import READ_ONLY
from apps.contrib.demo.seed import seed
from apps.http.errors import dialect_at
from apps.lib.errors import RoleRequired
from apps.lib.net import bodies
from apps.portal.frame import errors

SAFE = ("GET", "HEAD", "OPTIONS")


class ReadOnly:
    """Refuse each request that is no read, before its body, its session and its token are looked at."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        if settings.DEMO != "on":
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], _arguments: Any, _keywords: Any
    ) -> HttpResponseBase | None:
        if dialect_at(request.path) is None:
            request.user = cast("User", SimpleLazyObject(_visitor))
        if request.method in SAFE:
            return None
        refusal = RoleRequired(READ_ONLY, hint="Run your own to try this.")
        if hasattr(view, "cls"):  # a machine edge: it answers in its own dialect, as for a body that was not read
            request.META[bodies.REFUSAL] = refusal
            return None
        return errors.refused(request, refusal)


def _visitor() -> User | AnonymousUser:
    """Return the account of all visitors; no one while the demonstration is being filled."""
    return User.objects.filter(username=seed().visitor).first() or AnonymousUser()
