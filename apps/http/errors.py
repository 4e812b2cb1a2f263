"""Answer exceptions on the machine edges: one table of meanings, and one renderer for each dialect (D1).

Of a failed download clients print only this body, so each message is a sentence for people and contains no secret.
"""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import structlog
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest
from rest_framework.exceptions import APIException, AuthenticationFailed, MethodNotAllowed

from apps.jobs import database_availability
from apps.lib.errors import RegistryError

# By error code. A subclass whose own code is missing here has the status of its base.
STATUS: dict[str, int] = {
    "unauthenticated": HTTPStatus.UNAUTHORIZED,
    "forbidden": HTTPStatus.FORBIDDEN,
    "not_found": HTTPStatus.NOT_FOUND,
    "conflict": HTTPStatus.CONFLICT,
    "invalid": HTTPStatus.BAD_REQUEST,
    "unreadable": HTTPStatus.BAD_REQUEST,
    "too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "disconnected": HTTPStatus.BAD_REQUEST,
    "too_slow": HTTPStatus.REQUEST_TIMEOUT,
    "range_not_satisfiable": HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
    "unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "too_many_attempts": HTTPStatus.TOO_MANY_REQUESTS,
    # Resumable uploads: apps/http/tus.py, apps/releases/publishing/resuming.py
    "digest_mismatch": HTTPStatus.UNPROCESSABLE_ENTITY,
    "checksum_mismatch": 460,  # by the checksum extension of tus
    "unsupported_tus_version": HTTPStatus.PRECONDITION_FAILED,
    "unsupported_media_type": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "too_many_uploads": HTTPStatus.TOO_MANY_REQUESTS,
    # apps/accounts/identity/cli_login.py
    "invalid_grant": HTTPStatus.BAD_REQUEST,
    "invalid_client": HTTPStatus.BAD_REQUEST,
    "unsupported_grant_type": HTTPStatus.BAD_REQUEST,
    # apps/artifacts/errors.py
    "name_invalid": HTTPStatus.BAD_REQUEST,
    "name_unknown": HTTPStatus.NOT_FOUND,
    "digest_invalid": HTTPStatus.BAD_REQUEST,
    "blob_unknown": HTTPStatus.NOT_FOUND,
    "blob_upload_unknown": HTTPStatus.NOT_FOUND,
    "blob_upload_invalid": HTTPStatus.BAD_REQUEST,
    "blob_upload_out_of_order": HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
    "manifest_unknown": HTTPStatus.NOT_FOUND,
    "manifest_invalid": HTTPStatus.BAD_REQUEST,
    "manifest_blob_unknown": HTTPStatus.NOT_FOUND,
    "too_many_tags": HTTPStatus.REQUEST_URI_TOO_LONG,
    "unsupported": HTTPStatus.METHOD_NOT_ALLOWED,
}
RETRY_AFTER: dict[int, str] = {HTTPStatus.SERVICE_UNAVAILABLE: "2", HTTPStatus.TOO_MANY_REQUESTS: "5"}

log = structlog.get_logger("larder.http")


@dataclass(frozen=True, slots=True)
class Failure:
    status: int
    code: str
    message: str
    hint: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.message} {self.hint}".strip()


def failure_of(error: BaseException | None, request: HttpRequest) -> Failure:
    """The answer. Logs a defect once, with its traceback, and an outage without."""
    if isinstance(error, RegistryError):
        codes = (getattr(kind, "code", "") for kind in type(error).__mro__)
        if status := next((STATUS[code] for code in codes if code in STATUS), None):
            return Failure(status, error.code, str(error), error.hint)
    if isinstance(error, AuthenticationFailed):
        return Failure(HTTPStatus.UNAUTHORIZED, "unauthenticated", str(error.detail))
    if isinstance(error, MethodNotAllowed):
        return Failure(error.status_code, "method_not_allowed", str(error.detail))
    if isinstance(error, APIException):
        return Failure(error.status_code, str(error.default_code), str(error.detail))
    if isinstance(error, SuspiciousOperation):  # Django's own limits, such as that on the number of parameters
        return Failure(HTTPStatus.BAD_REQUEST, "unreadable", "The request is invalid.")
    log_exception(error, request)
    return outage(error) if database_availability.is_away(error) else defect(request)


def outage(error: BaseException | None = None) -> Failure:
    if database_availability.is_full(error):
        return Failure(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "unavailable",
            "The disk of the database is full.",
            "Try again after an operator has freed space.",
        )
    return Failure(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "unavailable",
        "Larder cannot answer right now.",
        "Try again in a few seconds.",
    )


def defect(request: HttpRequest) -> Failure:
    """Not 503: the same request fails again until Larder is corrected."""
    return Failure(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal_error",
        "Something went wrong on our side. The error has been logged.",
        f"Give an operator the request id {request_id_of(request)}.",
    )


def log_exception(error: BaseException | None, request: HttpRequest) -> None:
    """Logs only the path: a query string has search words, and secrets."""
    where = {"request_id": request_id_of(request), "method": request.method, "path": request.path}
    if database_availability.is_away(error) or database_availability.is_full(error):
        database_availability.count(error)
    if database_availability.is_full(error):
        log.error("database_full", **where)
    elif database_availability.is_away(error):
        log.warning("database_away", error=type(error).__name__, **where)
    else:
        log.error("internal_error", exc_info=error, **where)


def request_id_of(request: HttpRequest) -> str:
    return str(getattr(request, "request_id", ""))


# --- The dialects ---------------------------------------------------------------------------------

Dialect = Callable[[Failure], dict[str, Any]]


def registry_dialect(failure: Failure) -> dict[str, Any]:
    """The registry protocols: `{"errors": ["a sentence"]}`."""
    return {"errors": [failure.sentence]}


def api_dialect(failure: Failure) -> dict[str, Any]:
    """Larder's own API. `code` is for programs and never changes; `reasons` has the shape of a release document's."""
    return {"error": {"code": failure.code, "message": failure.message, "hint": failure.hint, "reasons": []}}


def oci_dialect(failure: Failure) -> dict[str, Any]:
    """OCI Distribution: `{"errors": [{"code", "message"}]}`, with the codes of its specification."""
    code = failure.code.upper()
    if code not in _OCI_CODES:
        code = _OCI_BY_CODE.get(failure.code) or _OCI_BY_STATUS.get(failure.status, "UNSUPPORTED")
    return {"errors": [{"code": code, "message": failure.sentence}]}


def oauth_dialect(failure: Failure) -> dict[str, Any]:
    """OAuth: RFC 6749, section 5.2."""
    code = failure.code if failure.code in _OAUTH_CODES else _OAUTH_BY_STATUS.get(failure.status, "invalid_request")
    # Of other characters, quotes and backslashes among them, the description has none.
    description = "".join(sign if " " <= sign <= "~" and sign not in '"\\' else "?" for sign in failure.sentence)
    return {"error": code, "error_description": description}


_OAUTH_CODES = {"invalid_client", "invalid_grant", "unsupported_grant_type"}
_OAUTH_BY_STATUS: dict[int, str] = {
    HTTPStatus.TOO_MANY_REQUESTS: "slow_down",  # RFC 8628, section 3.5
    HTTPStatus.INTERNAL_SERVER_ERROR: "server_error",
    HTTPStatus.SERVICE_UNAVAILABLE: "temporarily_unavailable",
}
_OCI_CODES = {
    "BLOB_UNKNOWN",
    "BLOB_UPLOAD_INVALID",
    "BLOB_UPLOAD_UNKNOWN",
    "DIGEST_INVALID",
    "MANIFEST_BLOB_UNKNOWN",
    "MANIFEST_INVALID",
    "MANIFEST_UNKNOWN",
    "NAME_INVALID",
    "NAME_UNKNOWN",
}
_OCI_BY_CODE = {
    "conflict": "DENIED",  # with 409: oras-py authenticates again on 403
    "too_large": "SIZE_INVALID",
    "too_many_tags": "SIZE_INVALID",
    "range_not_satisfiable": "SIZE_INVALID",
    "disconnected": "BLOB_UPLOAD_INVALID",
    "too_slow": "BLOB_UPLOAD_INVALID",
    "blob_upload_out_of_order": "BLOB_UPLOAD_INVALID",
}
_OCI_BY_STATUS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "UNAUTHORIZED",
    HTTPStatus.FORBIDDEN: "DENIED",
    HTTPStatus.NOT_FOUND: "NAME_UNKNOWN",
    HTTPStatus.TOO_MANY_REQUESTS: "TOOMANYREQUESTS",
    HTTPStatus.INTERNAL_SERVER_ERROR: "UNKNOWN",
    HTTPStatus.SERVICE_UNAVAILABLE: "UNAVAILABLE",
}
# For errors before a view is found.
_BY_PATH: dict[str, Dialect | None] = {
    "/api/docs/": None,  # pages about the API
    "/v1/": registry_dialect,
    "/v2/": oci_dialect,
    "/api/": api_dialect,
    "/mcp/": api_dialect,
    "/archives/": registry_dialect,
    "/packages/": registry_dialect,
    "/.well-known/": registry_dialect,
    "/oauth/token/": oauth_dialect,
}


def dialect_at(path: str) -> Dialect | None:
    """The dialect of the machine edge at this path; None for pages."""
    return next((dialect for prefix, dialect in _BY_PATH.items() if f"{path}/".startswith(prefix)), None)
