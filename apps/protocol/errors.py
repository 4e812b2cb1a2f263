"""The error dialect of the registry protocols: `{"errors": ["a sentence"]}` under the statuses of D8.

Clients print the body of a failed download answer and nothing else of any of these, so each is one sentence that a
person may read, and holds no secret. Only 429 and 5xx are tried again, once, after Retry-After.
"""

from http import HTTPStatus
from typing import Any

import structlog
from django.core.exceptions import SuspiciousOperation
from rest_framework.exceptions import APIException, AuthenticationFailed
from rest_framework.response import Response

from apps.jobs import database_availability
from apps.lib.errors import RegistryError, UnknownOrPrivate

CHALLENGE = 'Bearer realm="Larder"'
RETRY_AFTER = "2"
AWAY = "Larder cannot answer right now; try again in a few seconds."
STATUS = {
    "unauthenticated": HTTPStatus.UNAUTHORIZED,
    "forbidden": HTTPStatus.FORBIDDEN,
    "not_found": HTTPStatus.NOT_FOUND,
    "conflict": HTTPStatus.CONFLICT,
    "invalid": HTTPStatus.BAD_REQUEST,
    "too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "disconnected": HTTPStatus.BAD_REQUEST,
    "too_slow": HTTPStatus.REQUEST_TIMEOUT,
    "unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
}

log = structlog.get_logger("larder.protocol")


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:  # noqa: ARG001
    """Answers every exception, so that none becomes a page: what nobody foresaw is a 503, which clients try again."""
    status, sentence = _status_and_sentence(error)
    response = Response({"errors": [sentence]}, status=status)
    response.headers["Cache-Control"] = "no-store"
    if status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = CHALLENGE + (
            f', error_description="{error}"' if isinstance(error, UnknownOrPrivate) else ""
        )
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = str(getattr(error, "retry_after", RETRY_AFTER))
    return response


def _status_and_sentence(error: Exception) -> tuple[int, str]:
    if isinstance(error, RegistryError) and error.code in STATUS:
        return STATUS[error.code], f"{error} {error.mend}".strip()
    if isinstance(error, AuthenticationFailed):
        return HTTPStatus.UNAUTHORIZED, str(error.detail)
    if isinstance(error, APIException):
        return error.status_code, str(error.detail)
    if isinstance(error, SuspiciousOperation):  # Django's own limits, such as that on the number of parameters
        return HTTPStatus.BAD_REQUEST, "This request could not be understood."
    if isinstance(error, database_availability.AWAY):
        log.warning("database_away", error=type(error).__name__)
    else:
        log.error("unforeseen", exc_info=error)
    return HTTPStatus.SERVICE_UNAVAILABLE, AWAY
