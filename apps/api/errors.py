"""The error dialect of Larder's own API: `{"error": {"code", "message", "mend", "reasons"}}`.

`code` is for programs and never changes, `message` and `mend` are sentences for people, `reasons` is a list in the
shape of a release document's (empty where there is nothing to list).
"""

from http import HTTPStatus
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.urls import reverse
from rest_framework.exceptions import APIException, AuthenticationFailed, MethodNotAllowed
from rest_framework.response import Response

from apps.jobs import database_availability
from apps.lib.errors import RegistryError

CHALLENGE = 'Bearer realm="Larder"'
RETRY_AFTER = "2"
STATUS = {
    "unauthenticated": HTTPStatus.UNAUTHORIZED,
    "forbidden": HTTPStatus.FORBIDDEN,
    "not_found": HTTPStatus.NOT_FOUND,
    "conflict": HTTPStatus.CONFLICT,
    "invalid": HTTPStatus.UNPROCESSABLE_ENTITY,
    "unreadable": HTTPStatus.BAD_REQUEST,
    "too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "disconnected": HTTPStatus.BAD_REQUEST,
    "too_slow": HTTPStatus.REQUEST_TIMEOUT,
    "unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
}

log = structlog.get_logger("larder.api")


class Unreadable(RegistryError):
    """The request's body is not what this endpoint reads, before anything in it is looked at."""

    code = "unreadable"


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:  # noqa: ARG001
    """Answers every exception, so that none becomes a page; what nobody foresaw is a 503, safe to send again."""
    status, code, message, mend = _parts(error)
    body = {"code": code, "message": message, "mend": mend, "reasons": []}
    response = Response({"error": body}, status=status)
    response.headers["Cache-Control"] = "no-store"
    if status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = CHALLENGE
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = str(getattr(error, "retry_after", RETRY_AFTER))
    return response


def _parts(error: Exception) -> tuple[int, str, str, str]:
    if isinstance(error, RegistryError) and error.code in STATUS:
        mend = _how_to_make_a_token() if error.code == "unauthenticated" else error.mend
        return STATUS[error.code], error.code, str(error), mend
    if isinstance(error, AuthenticationFailed):
        return HTTPStatus.UNAUTHORIZED, "unauthenticated", str(error.detail), _how_to_make_a_token()
    if isinstance(error, MethodNotAllowed):
        return error.status_code, "method_not_allowed", str(error.detail), "The Allow header names what is possible."
    if isinstance(error, APIException):
        return error.status_code, str(error.default_code), str(error.detail), ""
    if isinstance(error, SuspiciousOperation):  # Django's own limits, such as that on the number of parameters
        return HTTPStatus.BAD_REQUEST, "unreadable", "This request could not be understood.", ""
    if isinstance(error, database_availability.AWAY):
        log.warning("database_away", error=type(error).__name__)
    else:
        log.error("unforeseen", exc_info=error)
    return (
        HTTPStatus.SERVICE_UNAVAILABLE,
        "unavailable",
        "Larder cannot answer right now.",
        "Try again in a few seconds.",
    )


def _how_to_make_a_token() -> str:
    page = f"{settings.PUBLIC_URL}{reverse('portal:tokens')}"
    return f"Make an API token at {page} and send it as `Authorization: Bearer <token>`."
