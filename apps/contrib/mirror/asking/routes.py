"""The routes of requests to a registry: proxy, certificates, token, what is refused, and how URLs are shown."""

import ssl
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import Upstream
from apps.lib.errors import RegistryError
from apps.lib.net import addresses, fetching, hostnames
from apps.lib.net.outgoing import NotAnswered

OWN_REGISTRY = "own_registry"


def route_of(upstream: Upstream, url: str) -> fetching.Route:
    """Raises FetchFailed for certificates or a proxy that cannot be used."""
    if upstream.host in settings.HOSTNAMES:
        text = f"{upstream.host} is the address of this Larder's own providers, expected that of another registry"
        raise FetchFailed(OWN_REGISTRY, text, url=shown(url), rule=OWN_REGISTRY, is_final=True)
    proxy = upstream.proxy or settings.UPSTREAM.proxy
    if proxy and urlsplit(proxy).scheme != "http":
        text = "the outgoing proxy has no http:// URL"
        raise FetchFailed("bad_proxy", text, url=shown(url), rule="proxy", is_final=True)
    return fetching.Route(
        trusted=_trusted(upstream, url),
        allowed=settings.UPSTREAM.allow,
        proxy=proxy,
        refuse=refuse_itself,
    )


def _trusted(upstream: Upstream, url: str) -> ssl.SSLContext:
    file = settings.UPSTREAM.ca_file
    try:
        changed_at = Path(file).stat().st_mtime_ns if file else 0
        return fetching.trusting(file, changed_at, upstream.ca)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        which = "LARDER_OUTGOING_CA_FILE or the certificates of the registry"
        text = f"{which} cannot be read: {type(error).__name__}"
        raise FetchFailed("bad_ca", text, url=shown(url), rule="certificate", is_final=True) from None


def refuse_itself(parts: SplitResult) -> None:
    """Raise NotAnswered for a URL of this Larder: a registry that leads here would be mirrored from its own mirror."""
    public = urlsplit(settings.PUBLIC_URL)
    ports = {addresses.port_of(public), addresses.HTTPS_PORT}
    own = {f"{host}:{port}" for host in settings.HOSTNAMES for port in ports} | {_place(public)}
    if hostnames.is_one_of(_place(parts), own):
        text = f"{parts.hostname} is this Larder itself, expected another registry"
        raise NotAnswered(text, code=OWN_REGISTRY, rule=OWN_REGISTRY)


def _place(parts: SplitResult) -> str:
    return f"{parts.hostname}:{addresses.port_of(parts)}"


def is_own_host(upstream: Upstream, url: str) -> bool:
    """Return whether the URL is of the registry itself: where its discovery is, or its providers.v1."""
    return _origin(url) in _origins(upstream)


def authorization_for(upstream: Upstream, url: str) -> str:
    """Return the header for a URL of the registry itself, "" for others. Never sent in clear if discovery is https."""
    if not upstream.sealed_token or not is_own_host(upstream, url):
        return ""
    if urlsplit(url).scheme != "https" and urlsplit(upstream.base_url).scheme == "https":
        return ""
    try:
        return f"Bearer {upstreams.token_of(upstream)}"
    except RegistryError as error:
        text = f"its token cannot be read: {error}"
        raise FetchFailed("token_unreadable", text, url=shown(url), rule="token", is_final=True) from None


def _origins(upstream: Upstream) -> set[tuple[str, str, int]]:
    return {_origin(url) for url in (upstream.base_url, upstream.discovered) if url}


def _origin(url: str) -> tuple[str, str, int]:
    try:
        return fetching.origin_of(urlsplit(fetching.encoded(url)))
    except ValueError:
        return ("", "", 0)


def shown(url: str) -> str:
    """Return the URL without what may be secret: user, password, query and fragment."""
    try:
        parts = urlsplit(fetching.encoded(url))
    except ValueError:
        return "[no URL]"
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()[:1000]


def moment_of(text: str) -> datetime | None:
    """Read an HTTP date."""
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
