"""The outermost WSGI application: it decides the client's address and the scheme once, for everything behind it."""

from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings

from apps.lib.forwarding import origin

Environ = dict[str, Any]
WsgiApplication = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


class TrustedProxyHeaders:
    """Puts the client's address into REMOTE_ADDR and the scheme into wsgi.url_scheme, and removes both headers.

    Limits, audit rows and access lines read REMOTE_ADDR and nothing else. Here rather than in Django's middleware, so
    that nothing can run earlier and see another address.
    """

    def __init__(self, application: WsgiApplication) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        decide(environ)
        return self.application(environ, start_response)


def decide(environ: Environ) -> None:
    forwarded_for = environ.pop("HTTP_X_FORWARDED_FOR", "")
    forwarded_proto = environ.pop("HTTP_X_FORWARDED_PROTO", "")
    found = origin(
        settings.TRUSTED_PROXIES,
        peer=environ.get("REMOTE_ADDR", ""),
        forwarded_for=forwarded_for,
        forwarded_proto=forwarded_proto,
    )
    environ["REMOTE_ADDR"] = found.client
    scheme = found.scheme
    if settings.BEHIND_PROXY and not settings.TRUSTED_PROXIES:
        # The older setting names no proxy, so it believes every peer. `check --deploy` warns of it (larder.W002).
        scheme = forwarded_proto.partition(",")[0].strip().lower()
    if scheme in ("http", "https"):
        environ["wsgi.url_scheme"] = scheme
