"""GET /metrics, in Prometheus' text format, for this machine and requests with the token; for others there is
nothing.
"""

import hmac
import threading
from collections.abc import Iterable
from ipaddress import ip_address
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from registry_site.monitoring import states
from registry_site.monitoring.sharing import families_of, shared
from registry_site.server.forwarded import DIRECT_PEER, Environ

PATH = "/metrics"
NOSNIFF = ("X-Content-Type-Options", "nosniff")


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    if not may_read(request.META):
        raise Http404
    response = HttpResponse(document(), content_type=CONTENT_TYPE_LATEST)
    response.headers["Cache-Control"] = "no-store"
    return response


def may_read(environ: Environ) -> bool:
    scheme, _, given = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() == "bearer":
        given = given.strip().encode()
        return any(hmac.compare_digest(given, token.encode()) for token in settings.METRICS_TOKENS)
    if settings.TRUSTED_PROXIES or settings.BEHIND_PROXY:
        # A proxy may run on this machine and leave its headers out, and then its requests look like this machine's own.
        return False
    try:
        return ip_address(environ.get(DIRECT_PEER, "")).is_loopback
    except ValueError:
        return False


class _All(Collector):
    def collect(self) -> Iterable[Metric]:
        yield from families_of(shared.total())
        yield from states.families()


class _OfAWorker(Collector):
    """Without the states, which web servers tell: a worker cannot reach each part, nor its role read each table."""

    def collect(self) -> Iterable[Metric]:
        yield from families_of(shared.total())
        yield states.build()


def document(collector: type[Collector] = _All) -> bytes:
    registry = CollectorRegistry()
    registry.register(collector())
    return generate_latest(registry)


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Handler(WSGIRequestHandler):
    timeout = 10
    default_request_version = "HTTP/1.0"  # else the refusal of what it cannot read has no headers

    def end_headers(self) -> None:
        """Of its own errors, such as 400 for a request line that it cannot read; applications send theirs elsewhere."""
        self.send_header(*NOSNIFF)
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Write nothing: probes ask every few seconds."""


def _application(environ: Environ, start_response: Any) -> list[bytes]:
    environ[DIRECT_PEER] = environ.get("REMOTE_ADDR", "")
    if environ.get("PATH_INFO") != PATH or environ.get("REQUEST_METHOD") != "GET" or not may_read(environ):
        start_response("404 Not Found", [("Content-Type", "text/plain"), ("Content-Length", "0"), NOSNIFF])
        return []
    body = document(_OfAWorker)
    headers = [("Content-Type", CONTENT_TYPE_LATEST), ("Content-Length", str(len(body))), NOSNIFF]
    start_response("200 OK", headers)
    return [body]


def serve(host: str, port: int) -> None:
    """Answer in a thread of this process, for workers."""
    server = make_server(host, port, _application, server_class=_Server, handler_class=_Handler)
    threading.Thread(target=server.serve_forever, name="metrics-page", daemon=True).start()
