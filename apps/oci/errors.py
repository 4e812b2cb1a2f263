"""The error dialect of OCI Distribution: `{"errors": [{"code", "message", "detail"}]}` for every failure."""

from http import HTTPStatus
from typing import Any

import structlog
from django.core.exceptions import SuspiciousOperation
from rest_framework.exceptions import APIException, AuthenticationFailed
from rest_framework.response import Response

from apps.jobs import database_availability
from apps.lib.errors import RegistryError

_RETRY_AFTER: dict[int, str] = {HTTPStatus.SERVICE_UNAVAILABLE: "2", HTTPStatus.TOO_MANY_REQUESTS: "60"}
AWAY = "Larder cannot answer right now; try again in a few seconds."

log = structlog.get_logger("larder.oci")


class TooManyAttempts(RegistryError):
    """For wrong passwords alone: clients end at the first 429, so nothing honest is ever told this."""

    code = "too_many_attempts"


# By the code of a refusal: the status, and the specification's code. `unauthenticated` is answered by the view, which
# knows the challenge. A version that is taken is a conflict and not 403, on which oras-py authenticates again.
_BY_CODE: dict[str, tuple[int, str]] = {
    "unauthenticated": (HTTPStatus.UNAUTHORIZED, "UNAUTHORIZED"),
    "forbidden": (HTTPStatus.FORBIDDEN, "DENIED"),
    "not_found": (HTTPStatus.NOT_FOUND, "NAME_UNKNOWN"),
    "conflict": (HTTPStatus.CONFLICT, "DENIED"),
    "invalid": (HTTPStatus.BAD_REQUEST, "UNSUPPORTED"),
    "too_large": (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "SIZE_INVALID"),
    "disconnected": (HTTPStatus.BAD_REQUEST, "BLOB_UPLOAD_INVALID"),
    "too_slow": (HTTPStatus.REQUEST_TIMEOUT, "BLOB_UPLOAD_INVALID"),
    "unavailable": (HTTPStatus.SERVICE_UNAVAILABLE, "UNAVAILABLE"),
    "too_many_attempts": (HTTPStatus.TOO_MANY_REQUESTS, "TOOMANYREQUESTS"),
    "name_invalid": (HTTPStatus.BAD_REQUEST, "NAME_INVALID"),
    "name_unknown": (HTTPStatus.NOT_FOUND, "NAME_UNKNOWN"),
    "digest_invalid": (HTTPStatus.BAD_REQUEST, "DIGEST_INVALID"),
    "blob_unknown": (HTTPStatus.NOT_FOUND, "BLOB_UNKNOWN"),
    "blob_upload_unknown": (HTTPStatus.NOT_FOUND, "BLOB_UPLOAD_UNKNOWN"),
    "blob_upload_invalid": (HTTPStatus.BAD_REQUEST, "BLOB_UPLOAD_INVALID"),
    "blob_upload_out_of_order": (HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, "BLOB_UPLOAD_INVALID"),
    "manifest_unknown": (HTTPStatus.NOT_FOUND, "MANIFEST_UNKNOWN"),
    "manifest_invalid": (HTTPStatus.BAD_REQUEST, "MANIFEST_INVALID"),
    "manifest_blob_unknown": (HTTPStatus.NOT_FOUND, "MANIFEST_BLOB_UNKNOWN"),
    "too_many_tags": (HTTPStatus.REQUEST_URI_TOO_LONG, "SIZE_INVALID"),
    "unsupported": (HTTPStatus.METHOD_NOT_ALLOWED, "UNSUPPORTED"),
}
_BY_STATUS = {
    HTTPStatus.UNAUTHORIZED: "UNAUTHORIZED",
    HTTPStatus.FORBIDDEN: "DENIED",
    HTTPStatus.TOO_MANY_REQUESTS: "TOOMANYREQUESTS",
}


def errors_document(code: str, message: str, detail: Any = None) -> dict[str, Any]:
    error = {"code": code, "message": message}
    return {"errors": [error if detail is None else error | {"detail": detail}]}


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """Answers every exception: what nobody foresaw is a 503, which clients of pushes try again."""
    status, code, message = _found(error)
    if status == HTTPStatus.BAD_REQUEST and context["request"].method == "HEAD":
        # It has no body for the sentence, and clients end at 400. After 404 they go on to a request that has one.
        status = HTTPStatus.NOT_FOUND
    response = Response(errors_document(code, message), status=status)
    response.headers["Cache-Control"] = "no-store"
    if status in _RETRY_AFTER:
        response.headers["Retry-After"] = str(getattr(error, "retry_after", _RETRY_AFTER[status]))
    return response


def _found(error: Exception) -> tuple[int, str, str]:
    if isinstance(error, RegistryError) and error.code in _BY_CODE:
        return *_BY_CODE[error.code], f"{error} {error.mend}".strip()
    if isinstance(error, AuthenticationFailed):
        return HTTPStatus.UNAUTHORIZED, "UNAUTHORIZED", str(error.detail)
    if isinstance(error, APIException):
        return error.status_code, _BY_STATUS.get(HTTPStatus(error.status_code), "UNSUPPORTED"), str(error.detail)
    if isinstance(error, SuspiciousOperation):  # Django's own limits, such as that on the number of parameters
        return HTTPStatus.BAD_REQUEST, "UNSUPPORTED", "This request could not be understood."
    if isinstance(error, database_availability.AWAY):
        log.warning("database_away", error=type(error).__name__)
    else:
        log.error("unforeseen", exc_info=error)
    return HTTPStatus.SERVICE_UNAVAILABLE, "UNAVAILABLE", AWAY
