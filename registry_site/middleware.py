"""What every answer carries: a request id, one access line, and the security headers."""

import re
import time
import uuid
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase

Respond = Callable[[HttpRequest], HttpResponseBase]
log = structlog.get_logger("larder.access")
_USABLE_ID = re.compile(r"[\w.-]{1,64}")


class RequestIdMiddleware:
    """Gives each request an id (the caller's own where it is harmless), logs one line, and answers with X-Request-Id.

    The id stands in the log context, from where audit rows and job rows take it, so that it follows into the task.
    """

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        asked = request.headers.get("X-Request-Id", "")
        request_id = asked if _USABLE_ID.fullmatch(asked) else uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]  # read by the error pages
        started = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = self.get_response(request)
            log.info(
                "request",
                method=request.method,
                path=request.path,
                status=response.status_code,
                ms=round((time.perf_counter() - started) * 1000, 1),
                auth=request.headers.get("Authorization", "none").split(" ")[0][:10].lower(),
                user_agent=request.headers.get("User-Agent", "")[:200],
                client_version=request.headers.get("X-Terraform-Version", "")[:40],
            )
        response.headers["X-Request-Id"] = request_id
        return response


def content_security_policy(policy: dict[str, list[str]]) -> str:
    return "; ".join(" ".join([directive, *sources]) for directive, sources in policy.items())


class SecurityHeadersMiddleware:
    """Content-Security-Policy in the shape of Django 6 (deleted on the move to it) and Permissions-Policy.

    A view that needs another policy sets the header itself.
    """

    permissions = ", ".join(
        f"{feature}=()" for feature in ("camera", "geolocation", "microphone", "payment", "usb", "interest-cohort")
    )

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response
        self.policy = content_security_policy(settings.SECURE_CSP)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", self.policy)
        response.headers.setdefault("Permissions-Policy", self.permissions)
        return response


class PagesNeedSignIn(LoginRequiredMiddleware):
    """As Django's, but a view that needs no sign-in is not asked who is signed in.

    Django's looks first, which reads the session: two queries and `Vary: Cookie` on every answer of the machine edges,
    and a page of errors instead of their own answer while the database is away.
    """

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., Any],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        if not getattr(view_func, "login_required", True):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)
