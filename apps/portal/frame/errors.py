"""Errors as pages, in the common frame and with the request id.

The settings name `RegistryErrorsMiddleware` (last) and `csrf_failed`; registry_site/urls.py names the handlers.
"""

import sys
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse

from apps.accounts.access import contacts, operators
from apps.accounts.identity.sessions import session_viewer
from apps.http.errors import (
    RETRY_AFTER,
    STATUS,
    Failure,
    defect,
    dialect_at,
    failure_of,
    outage,
    request_id_of,
)
from apps.http.views import nothing_here
from apps.jobs import database_availability
from apps.lib.errors import CredentialsRequired, Misspelled, NotFound, RegistryError, TooManyAttempts
from apps.portal.frame.form_files import FileRefused
from apps.portal.frame.negotiation import is_htmx
from apps.portal.frame.page_urls import url_of
from apps.portal.frame.rows import address_named
from apps.releases.catalogue import nearest
from apps.releases.models import Kind

TEMPLATES = {
    HTTPStatus.NOT_FOUND: "404.html",
    HTTPStatus.FORBIDDEN: "403.html",
}
# True if the person has one that this session has not been shown. `registry_site.server.middleware` sets it.
LACKS_SECOND_FACTOR = "larder.lacks_second_factor"


class RegistryErrorsMiddleware:
    """Answers a RegistryError of a page with an error page; other edges have their own dialects (D1)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, RegistryError) or dialect_at(request.path) is not None:
            return None
        if isinstance(exception, CredentialsRequired):
            return sign_in(request)
        return refused(request, exception)


def lacks_second_factor(request: HttpRequest) -> bool:
    """Return whether the person is signed in, but without the second factor that they need: `request.user` is
    anonymous.
    """
    return LACKS_SECOND_FACTOR in request.META


def refused(request: HttpRequest, refusal: RegistryError) -> HttpResponse:
    status = HTTPStatus(STATUS.get(refusal.code, HTTPStatus.BAD_REQUEST))
    near = _nearest(request) if isinstance(refusal, NotFound) else []
    hint = "" if near and isinstance(refusal, Misspelled) else refusal.hint
    response = error_page(request, status, message=str(refusal), hint=hint, near=near)
    if isinstance(refusal, TooManyAttempts):
        response.headers["Retry-After"] = str(refusal.retry_after)
        response.headers["Cache-Control"] = "no-store"
        if is_htmx(request):
            response.headers["HX-Reswap"] = "none"  # a page must not replace a fragment
    return response


def _nearest(request: HttpRequest) -> list[tuple[str, str]]:
    """The two nearest modules, providers or namespaces that the viewer may see: their names and pages."""
    names = request.resolver_match.kwargs if request.resolver_match else {}
    viewer = session_viewer(request)
    namespace = str(names.get("namespace", ""))
    if "system" in names:
        docs = nearest.nearest_docs(viewer, Kind.MODULE, namespace, f"{names['name']}/{names['system']}")
    elif "type" in names:
        docs = nearest.nearest_docs(viewer, Kind.PROVIDER, namespace, str(names["type"]))
    elif namespace or (request.resolver_match and request.resolver_match.view_name == "portal:namespace"):
        found = nearest.nearest_namespaces(viewer, namespace or str(names["name"]))
        return [(name, reverse("portal:namespace", args=[name])) for name in found]
    else:
        return []
    return [(str(doc), url_of(address_named(doc.kind, doc.namespace.name, doc.name))) for doc in docs]


def sign_in(request: HttpRequest) -> HttpResponse:
    """To the sign-in page and back: the same for hidden and missing pages (D8).

    Who has signed in, and lacks the second factor that LARDER_SECOND_FACTOR requires, is led to that.
    """
    after = request.get_full_path() if request.method == "GET" else reverse("portal:home")
    page = settings.LOGIN_URL
    if lacks_second_factor(request):
        page = "account_reauthenticate" if request.META[LACKS_SECOND_FACTOR] else "portal:second-factor"
    url = f"{reverse(page)}?{urlencode({'next': after})}"
    if is_htmx(request):
        # The sign-in form must not replace a fragment: redirect the whole page.
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED, headers={"HX-Redirect": url})
    return HttpResponseRedirect(url)


def error_page(
    request: HttpRequest,
    status: HTTPStatus,
    *,
    message: str = "",
    hint: str = "",
    near: Sequence[tuple[str, str]] = (),
) -> HttpResponse:
    context = {"message": message, "hint": hint, "near": near, "status": status.value, "phrase": status.phrase}
    context["request_id"] = request_id_of(request)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        # Rendered without the request: its context processors query the database, which may be unavailable.
        headers = {"Retry-After": RETRY_AFTER[status], "Cache-Control": "no-store"}
        return HttpResponse(render_to_string("503.html", context), status=status, headers=headers)
    return render(request, TEMPLATES.get(status, "400.html"), context, status=status)


# --- Django's own hooks: login_not_required, since LoginRequiredMiddleware looks at every view that a URL leads to ---


@login_not_required
def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if database_availability.is_away(exception):
        # Django reports a session that could not be saved as a deleted one.
        return _database_away(request)
    if isinstance(exception, FileRefused):
        return error_page(request, HTTPStatus.BAD_REQUEST, message=str(exception), hint=exception.hint)
    # Never show the exception's text: it may quote secrets.
    return _document(request, failure_of(SuspiciousOperation(), request)) or error_page(request, HTTPStatus.BAD_REQUEST)


def unknown_host(request: HttpRequest) -> HttpResponse:
    """For an unknown Host header: the reader typed an address, or runs the proxy in front.

    The log has the header, the answer does not: no answer repeats a forged host.
    """
    message = f"This Larder answers to {settings.PUBLIC_HOST}, but the request used another name."
    hint = f"Use {settings.PUBLIC_URL}. Operators set the address with LARDER_PUBLIC_URL."
    document = _document(request, Failure(HTTPStatus.BAD_REQUEST, "invalid", message, hint))
    return document or error_page(request, HTTPStatus.BAD_REQUEST, message=message, hint=hint)


@login_not_required
def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    if request.resolver_match is None or request.resolver_match.app_name != "admin":
        return error_page(request, HTTPStatus.FORBIDDEN)
    viewer = session_viewer(request)
    if operators.is_operator(viewer):
        message = "Your account lacks the staff role that this page needs."
        hint = contacts.ask_superuser("the role Auditor, to read, or Operator, to act")
        return error_page(request, HTTPStatus.FORBIDDEN, message=message, hint=hint)
    return refused(request, operators.for_operators(viewer, "Only operators can open this page."))


@login_not_required
def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  # it lists every route in DEBUG
    return _document(request, failure_of(nothing_here(), request)) or error_page(request, HTTPStatus.NOT_FOUND)


@login_not_required
def server_error(request: HttpRequest) -> HttpResponse:
    """Rendered without the request: its context processors query the database, which may be the cause."""
    if database_availability.is_away(sys.exc_info()[1]):
        return _database_away(request)
    if document := _document(request, defect(request)):
        return document
    context: dict[str, Any] = {"request_id": request_id_of(request), "status": 500}
    return HttpResponse(render_to_string("500.html", context), status=HTTPStatus.INTERNAL_SERVER_ERROR)


def _database_away(request: HttpRequest) -> HttpResponse:
    """Django saves no session after a status of 500 or more, so nothing waits for the database again."""
    return _document(request, outage()) or error_page(request, HTTPStatus.SERVICE_UNAVAILABLE)


def _document(request: HttpRequest, failure: Failure) -> HttpResponse | None:
    """In the dialect of the machine edge at this path, for requests that never reach one; None for pages."""
    dialect = dialect_at(request.path)
    if dialect is None:
        return None
    response = JsonResponse(dialect(failure), status=failure.status)
    if failure.status in RETRY_AFTER:
        response.headers["Retry-After"] = RETRY_AFTER[failure.status]
    return response


@login_not_required
def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001  # for developers, not for people
    return error_page(
        request,
        HTTPStatus.FORBIDDEN,
        message="This form does not match your browser session, so nothing was changed.",
        hint="Go back, reload the page and send it again. If it happens again, allow cookies for this site.",
    )
