"""What nobody foresaw, in the log: the page of a 500 names the request id by which an operator finds it here.

The machine edges answer such an exception themselves, and log it in their own error handlers.
"""

import sys
from typing import Any

import structlog
from django.core.signals import got_request_exception
from django.dispatch import receiver
from django.http import HttpRequest

from apps.jobs import database_availability
from apps.portal.frame.errors import request_id_of

log = structlog.get_logger("larder.site")


@receiver(got_request_exception, dispatch_uid="larder-defects")
def log_defect(sender: object, request: HttpRequest, **_: Any) -> None:  # noqa: ARG001  # the signal names it
    """One line with the traceback. The path alone: a query string holds what people search for, and secrets."""
    error = sys.exc_info()[1]
    where = {"request_id": request_id_of(request), "method": request.method, "path": request.path}
    if database_availability.is_away(error):
        log.warning("database_away", error=type(error).__name__, **where)
    else:
        log.error("unforeseen", exc_info=error, **where)
