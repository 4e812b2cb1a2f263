"""Defects of pages in the log: the page of a 500 names the request id by which an operator finds the line.

The machine edges answer exceptions themselves, and log them in apps/http/errors.py.
"""

import sys
from typing import Any

from django.core.signals import got_request_exception
from django.dispatch import receiver
from django.http import HttpRequest

from apps.http.errors import log_exception


@receiver(got_request_exception, dispatch_uid="larder-defects")
def log_defect(sender: object, request: HttpRequest, **_: Any) -> None:  # noqa: ARG001  # the signal names it
    log_exception(sys.exc_info()[1], request)
