"""Middleware: request id and access line, security headers, limits of bodies, allowed hosts, sign-in."""

import re
import secrets
import time
from collections.abc import Callable
from typing import Any, cast

import structlog
from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware, get_user
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.functional import SimpleLazyObject

from apps import room
from apps.accounts.identity import second_factor
from apps.accounts.models import ApiToken, User
from apps.http.errors import dialect_at
from apps.jobs.waiting import ASKED
from apps.lib.errors import Invalid, NotFound
from apps.lib.net import bodies
from apps.lib.process import metrics
from apps.lib.text.redaction import redact
from apps.portal.frame import errors, security_policy
from registry_site.monitoring.clients import clients

Respond = Callable[[HttpRequest], HttpResponseBase]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# In the environ: what the front says of a ready answer that Django gave first.
ACCESS_FIELDS = "larder.access_fields"
log = structlog.get_logger("larder.access")
# What clusters, load balancers and Prometheus ask each web server for, by its own address.
PROBES = ("/healthz", "/readyz", "/metrics")
_USABLE_ID = re.compile(r"[\w.-]{1,64}")


class RequestIdMiddleware:
    """Gives each request an id (the caller's own if it is harmless), logs one line, and answers with X-Request-Id.

    Audit rows take the id and the client from the log context, job rows the id, so that it follows into the task.
    """

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # A request that waits comes by several times, and is one request.
        request_id = request.META.get("larder.request_id") or request_id_for(request.headers.get("X-Request-Id", ""))
        request.META["larder.request_id"] = request_id
        request.request_id = request_id  # type: ignore[attr-defined]  # read by the error pages
        started = request.META.setdefault("larder.started", time.perf_counter())
        client = request.META.get("REMOTE_ADDR", "")
        with structlog.contextvars.bound_contextvars(request_id=request_id, client=client):
            response = self.get_response(request)
            release = structlog.contextvars.get_contextvars().get("release_id")
            structlog.contextvars.unbind_contextvars("release_id")
            if ASKED not in request.META:
                route, seconds = route_of(request), time.perf_counter() - started
                person = person_of(request)
                own = {"route": route, "person": person, "release": release}
                request.META[ACCESS_FIELDS] = own | {"token": token_of(request)}
                _count(request.method or "", route, response.status_code, seconds)
                clients.note(client)
                fields = access_fields(
                    method=request.method or "",
                    path=request.path,
                    client=client,
                    status=response.status_code,
                    seconds=seconds,
                    authorization=request.headers.get("Authorization", "none"),
                    user_agent=request.headers.get("User-Agent", ""),
                    client_version=request.headers.get("X-Terraform-Version", ""),
                    route=route,
                    person=person,
                    release=release,
                )
                log.info("request", **fields)
        response.headers["X-Request-Id"] = request_id
        return response


def request_id_for(asked: str) -> str:
    """Return the id that the caller asks for if it is harmless, or a new one."""
    is_usable = _USABLE_ID.fullmatch(asked) and redact(asked) == asked
    return asked if is_usable else secrets.token_hex(16)


def access_fields(
    *,
    method: str,
    path: str,
    client: str,
    status: int,
    seconds: float,
    authorization: str,
    user_agent: str,
    client_version: str,
    route: str = "",
    person: int | None = None,
    release: int | None = None,
) -> dict[str, Any]:
    """The fields of an access line, besides the request id. `person` and `release` are numbers of rows."""
    # `other` for an unknown scheme: some clients send the token alone.
    scheme = authorization.partition(" ")[0].lower()
    return {
        "method": method,
        "path": path,
        "client": client,
        "status": status,
        "ms": round(seconds * 1000, 1),
        "auth": scheme if scheme in ("none", "basic", "bearer") else "other",
        "user_agent": user_agent[:200],
        "client_version": client_version[:40],
        "route": route,
        "person": person,
        "release": release,
    }


def route_of(request: HttpRequest) -> str:
    """Return the name of the route, which is one of a few: labels of metrics may not be endless."""
    if request.resolver_match is None:
        return "static" if request.path.startswith(settings.STATIC_URL) else "none"
    return request.resolver_match.view_name if request.resolver_match.url_name else "none"


def person_of(request: HttpRequest) -> int | None:
    """Return the account that a view has identified; a lazy session is not read for this."""
    user = request.__dict__.get("user")
    # By its type: `isinstance` asks a lazy user for its class, which reads the session.
    if type(user) is SimpleLazyObject:
        user = getattr(request, "_cached_user", None)
    return user.pk if isinstance(user, User) else None


def token_of(request: HttpRequest) -> int | None:
    """Return the API token that a view has identified, or that the registry token in the request was issued for."""
    auth = request.__dict__.get("auth")
    token = getattr(auth, "token", auth)
    return token.pk if isinstance(token, ApiToken) else None


def _count(method: str, route: str, status: int, seconds: float) -> None:
    metrics.requests.labels(route, method if method in METHODS else "other", str(status)).inc()
    metrics.request_duration.labels(route).observe(seconds)


class SecurityHeadersMiddleware:
    """Content-Security-Policy in the shape of Django 6 (deleted on the move to it) and Permissions-Policy.

    A view that needs another policy sets the header itself.
    """

    permissions = ", ".join(
        f"{feature}=()" for feature in ("camera", "geolocation", "microphone", "payment", "usb", "interest-cohort")
    )

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", security_policy.rendered(security_policy.usual()))
        response.headers.setdefault("Permissions-Policy", self.permissions)
        # Answers depend on the viewer; views and static files that may be cached set their own header.
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response


class SmallBodies:
    """Refuses a body of more than JSON_MAX_BYTES unless the view is marked as streamed.

    asgi.py has gathered the body and passes its refusal. Under other servers the length decides: without one Django's
    forms read nothing, and the other edges count. Machine edges raise the refusal in their own dialects.
    """

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., Any], _arguments: Any, _keywords: Any
    ) -> HttpResponseBase | None:
        if bodies.is_streamed(view_func, request.method or ""):
            return None
        refusal = bodies.refusal(request.META, limit=settings.JSON_MAX_BYTES)
        if refusal is None:
            return None
        request.META[bodies.REFUSAL] = refusal
        is_page = getattr(view_func, "cls", None) is None  # REST framework names its class there
        return errors.refused(request, refusal) if is_page else None


class ReadableRequests:
    """Refuses forms that are not UTF-8, which Django would misread, and addresses with a NUL, which no name has.

    For pages only: the machine edges read no forms, and answer the rest in their own dialects.
    """

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if dialect_at(request.path):
            return self.get_response(request)
        if getattr(request, "is_form_in_another_charset", False):
            return errors.bad_request(request, Invalid("This form is not UTF-8."))
        if "\0" in request.path:
            return errors.page_not_found(request, NotFound("There is nothing at this address."))
        return self.get_response(request)


class AllowedHosts:
    """Refuses requests for another host with a page that explains how to fix it.

    Health checks and Prometheus may use any name, and so may static files, which that page needs.
    """

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            request.get_host()
        except DisallowedHost:
            if not request.path.startswith((*PROBES, settings.STATIC_URL)):
                log.warning("unknown_host", host=request.META.get("HTTP_HOST", "")[:100])
                return errors.unknown_host(request)
            request.META["HTTP_HOST"] = settings.PUBLIC_HOST
        return self.get_response(request)


class SecondFactorRequired:
    """Treat a session that lacks a second factor as anonymous, except where its person can set one up (D8).

    So it reads what is public. Where others are sent to sign in, `errors.sign_in` leads it to the second factor.
    """

    open_to_it: tuple[str, ...] = (
        "account_login",
        "account_logout",
        "account_reauthenticate",
        "mfa_authenticate",
        "portal:second-factor",
        "portal:recovery-codes",
        "portal:passkey-add",
        "portal:passkey-registration",
        "portal:passkey-request",
        "portal:sign-on",
    )

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response
        self.open_to_it += tuple(route for one in room.rooms() for route in one.sign_in_routes)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, _view: Callable[..., Any], _arguments: Any, _keywords: Any
    ) -> HttpResponseBase | None:
        match = request.resolver_match
        if settings.SECOND_FACTOR == "off" or match is None or match.view_name in self.open_to_it:
            return None
        request.user = cast("User", SimpleLazyObject(lambda: self._viewer(request)))
        # The admin's own sign-in page leads who is signed in back, again and again.
        is_refused = match.app_name == "admin" and not request.user.is_authenticated
        return errors.sign_in(request) if is_refused and errors.lacks_second_factor(request) else None

    def _viewer(self, request: HttpRequest) -> User | AnonymousUser:
        user = get_user(request)
        if not isinstance(user, User) or not second_factor.is_missing(request, user):
            return user
        request.META[errors.LACKS_SECOND_FACTOR] = second_factor.is_on(user)
        return AnonymousUser()


class PagesNeedSignIn(LoginRequiredMiddleware):
    """Like Django's, but does not read the session for a view that needs no sign-in.

    Reading it would cost two queries and `Vary: Cookie` on every answer of the machine edges, and replace their own
    error answers while the database is away.
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
        refusal = super().process_view(request, view_func, view_args, view_kwargs)
        return errors.sign_in(request) if refusal is not None and errors.lacks_second_factor(request) else refusal
