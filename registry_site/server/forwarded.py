"""The outermost WSGI application: sets the client's address and the scheme for everything behind it."""

from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings

from apps.lib.net.forwarding import PROXIED, forwarded

Environ = dict[str, Any]
# In the environ: the peer's own address if nobody has forwarded the request, else empty.
DIRECT_PEER = "larder.direct_peer"
_FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA")
WsgiApplication = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


class TrustedProxyHeaders:
    """Sets REMOTE_ADDR and wsgi.url_scheme, and removes both headers.

    Limits, audit rows and access lines read only REMOTE_ADDR. This is no Django middleware, so that nothing can run
    earlier and see another address.
    """

    def __init__(self, application: WsgiApplication) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        decide(environ)
        return self.application(environ, start_response)


def decide(environ: Environ) -> None:
    is_forwarded = any(name in environ for name in _FORWARDED) or settings.BEHIND_PROXY
    peer = environ.get("REMOTE_ADDR", "")
    forwarded_for = environ.pop("HTTP_X_FORWARDED_FOR", "")
    forwarded_proto = environ.pop("HTTP_X_FORWARDED_PROTO", "")
    found = forwarded(
        settings.TRUSTED_PROXIES,
        peer=peer,
        forwarded_for=forwarded_for,
        forwarded_proto=forwarded_proto,
    )
    environ["REMOTE_ADDR"] = found.client
    environ[PROXIED] = found.is_proxied
    environ[DIRECT_PEER] = "" if is_forwarded or found.is_proxied else peer
    scheme = found.scheme
    if settings.BEHIND_PROXY and not settings.TRUSTED_PROXIES:
        # The older setting names no proxies, so it trusts every peer. `check --deploy` warns about it (larder.W002).
        scheme = forwarded_proto.partition(",")[0].strip().lower()
    if scheme in ("http", "https"):
        environ["wsgi.url_scheme"] = scheme
