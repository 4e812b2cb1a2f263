"""The WSGI environ of a request that came over ASGI."""

import io
import string
import sys
from typing import Any
from urllib.parse import quote_from_bytes

from a2wsgi.asgi_typing import HTTPScope
from a2wsgi.wsgi import build_environ

from apps.http import byte_ranges
from apps.jobs.waiting import OFFERED
from registry_site.server.connections import can_send_files

NOTHING: Any = io.BytesIO()


def environ_of(scope: HTTPScope) -> dict[str, Any]:
    """Return a2wsgi's environ with four corrections and an empty input."""
    query = quote_from_bytes(scope["query_string"], safe=string.punctuation)  # a2wsgi takes only ASCII
    # X_Forwarded_For and X-Forwarded-For become one key of the environ: like nginx, drop names with an underscore.
    headers = [(name, value) for name, value in scope["headers"] if b"_" not in name]
    readable: HTTPScope = {**scope, "query_string": query.encode(), "headers": headers}
    environ: dict[str, Any] = dict(build_environ(readable, NOTHING))
    # Over HTTP/2 browsers send one field per cookie, to be joined by "; " (RFC 9113, 8.2.3).
    cookies = [value for name, value in scope["headers"] if name == b"cookie"]
    if cookies:
        environ["HTTP_COOKIE"] = b"; ".join(cookies).decode("latin-1")
    # HTTP/2 and chunked uploads send no length: the input ends with the body (D2).
    offered = {OFFERED: True, byte_ranges.OFFERED: can_send_files(scope)}
    return environ | {"wsgi.input_terminated": True, "wsgi.errors": sys.stderr} | offered
