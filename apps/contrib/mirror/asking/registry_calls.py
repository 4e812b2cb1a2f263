"""The requests to other registries: the only module of this room that goes out (lib/net/fetching.py).

Every function raises FetchFailed, after it has written the failure to the log and to the registry's row. What may pass
is tried again here for a few seconds; the caller decides about later. No database transaction may be open.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.utils import timezone

from apps.contrib.mirror.asking import routes
from apps.contrib.mirror.asking.requesting import Request, asked, bodies
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import Upstream
from apps.lib.net import fetching

DISCOVERY = "/.well-known/terraform.json"
DISCOVERY_LASTS = timedelta(hours=1)
MAX_DISCOVERY_BYTES = 1024 * 1024  # as of the clients
MAX_SERVICE_CHARACTERS = 500
DOCUMENTS = fetching.Limits(first_byte_seconds=15, total_seconds=40, min_bytes_per_second=1024, window_seconds=10)
PACKAGES = fetching.Limits(
    first_byte_seconds=30, total_seconds=30 * 60, min_bytes_per_second=8 * 1024, window_seconds=20
)
_TOTAL = re.compile(r"bytes \d+-\d+/(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Service:
    """A service that a discovery document names. `missing`: the code of a failure if it does not."""

    name: str
    protocol: str
    missing: str


PROVIDERS = Service("providers.v1", "provider registry protocol", "no_providers")
MODULES = Service("modules.v1", "module registry protocol", "no_modules")


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """`at`: the Date of the answer. `body` is None only if it is unchanged."""

    body: dict[str, Any] | None
    is_unchanged: bool = False
    etag: str = ""
    last_modified: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Download:
    """`size`: what the server promises. `url`: where the bytes come from after redirects, without its query."""

    chunks: Iterator[bytes]
    size: int | None
    url: str


def discover(upstream: Upstream) -> str:
    """Return the base URL of providers.v1, with a slash at its end.

    It is remembered on the row for an hour, and read again after a failure.
    """
    row = Upstream.objects.only("discovered", "discovered_at", "failed_at").filter(pk=upstream.pk).first()
    if row is not None and _is_fresh(row):
        upstream.discovered = row.discovered
        return row.discovered
    base = _service_of(upstream, PROVIDERS)
    upstream.discovered, upstream.discovered_at = base, timezone.now()
    Upstream.objects.filter(pk=upstream.pk).update(discovered=base, discovered_at=upstream.discovered_at)
    return base


def discover_modules(upstream: Upstream) -> str:
    """Return the base URL of modules.v1, with a slash at its end. It is asked for each time."""
    return _service_of(upstream, MODULES)


def get_json(upstream: Upstream, url: str, *, max_bytes: int, etag: str = "", last_modified: str = "") -> JsonAnswer:
    """Return a JSON object, or that it has not changed since the answer with that ETag or Last-Modified."""
    headers = {"If-None-Match": etag} if etag else {}
    if last_modified:
        headers["If-Modified-Since"] = last_modified
    request = Request("GET", url, DOCUMENTS, accept="application/json", headers=headers)
    with asked(upstream, request) as said:
        told = str(said.headers.get("ETag") or ""), str(said.headers.get("Last-Modified") or "")
        at = routes.moment_of(str(said.headers.get("Date") or ""))
        if said.status == HTTPStatus.NOT_MODIFIED:
            return JsonAnswer(
                None, is_unchanged=True, etag=told[0] or etag, last_modified=told[1] or last_modified, at=at
            )
        return JsonAnswer(_parsed(said, url, max_bytes), etag=told[0], last_modified=told[1], at=at)


def get_page(upstream: Upstream, url: str, *, max_bytes: int) -> dict[str, Any] | None:
    """Return a JSON object that a registry may have beside its protocol; None if it has none.

    A status that may pass raises FetchFailed, and says nothing of the registry's health: the protocol continues.
    """
    request = Request("GET", url, DOCUMENTS, accept="application/json", closes=False, accepts_any_status=True)
    with asked(upstream, request) as said:
        if said.status == HTTPStatus.OK:
            return _parsed(said, url, max_bytes)
    if said.status >= HTTPStatus.INTERNAL_SERVER_ERROR or said.status == HTTPStatus.TOO_MANY_REQUESTS:
        raise FetchFailed("page_away", f"the answer was {said.status}", url=url, status=said.status)
    return None


def get_location(upstream: Upstream, url: str, *, max_bytes: int) -> str:
    """Return where a module is: the `location` of a JSON object, or the header X-Terraform-Get; "" if there is none."""
    request = Request("GET", url, DOCUMENTS, accept="application/json", may_be_empty=True)
    with asked(upstream, request) as said:
        header = str(said.headers.get("X-Terraform-Get") or "")
        if said.status == HTTPStatus.NO_CONTENT or said.headers.get_content_type() != "application/json":
            return header
        found = _parsed(said, url, max_bytes).get("location")
        return found if isinstance(found, str) and found else header


def get_all_bytes(upstream: Upstream, sizes: Mapping[str, int]) -> list[bytes]:
    """Return what is at several URLs, asked for at the same time. `sizes`: the largest of each."""
    return bodies(upstream, [Request("GET", url, DOCUMENTS) for url in sizes], list(sizes.values()))


@contextmanager
def stream(upstream: Upstream, url: str, *, max_bytes: int) -> Iterator[Download]:
    """Open a download, whose chunks raise FetchFailed as well.

    Until it is closed it takes one of the connections to its host. The last one is left for documents.
    """
    with asked(upstream, Request("GET", url, PACKAGES, is_long=True)) as said:
        yield Download(said.chunks(max_bytes), said.size, routes.shown(said.url))


def size_of(upstream: Upstream, url: str) -> int | None:
    """Return how large a package is: by HEAD, else by a ranged GET, which signed links and some servers need."""
    head = Request("HEAD", url, DOCUMENTS, closes=False, accepts_any_status=True)
    with asked(upstream, head) as said:
        if said.status == HTTPStatus.OK and said.size is not None:
            return said.size
    ranged = Request("GET", url, DOCUMENTS, headers={"Range": "bytes=0-0"})
    with asked(upstream, ranged) as said:
        if said.status == HTTPStatus.PARTIAL_CONTENT:
            found = _TOTAL.fullmatch(str(said.headers.get("Content-Range") or ""))
            return int(found[1]) if found else None
        return said.size


def _is_fresh(row: Upstream) -> bool:
    at = row.discovered_at
    if not row.discovered or at is None or at < timezone.now() - DISCOVERY_LASTS:
        return False
    return row.failed_at is None or row.failed_at < at


def _service_of(upstream: Upstream, service: Service) -> str:
    url = upstream.base_url.rstrip("/") + DISCOVERY
    request = Request("GET", url, DOCUMENTS, accept="application/json", closes=False)
    with asked(upstream, request) as said:
        document = _parsed(said, url, MAX_DISCOVERY_BYTES)
        base = _service_url(service, document, said.url, url)
        routes.refuse_itself(urlsplit(base))
    return base


def _service_url(service: Service, document: Mapping[str, Any], final_url: str, url: str) -> str:
    name = service.name
    given = document.get(name)
    if not isinstance(given, str) or not given:
        found = f"an object without {name}" if given is None else f"{name} as {given!r:.80}"
        text = f"found {found}, expected the URL of the {service.protocol}"
        raise FetchFailed(service.missing, text, url=url, rule="discovery", is_final=True)
    try:
        # Relative to where discovery was found, as clients do it.
        parts = urlsplit(urljoin(final_url, fetching.encoded(given)))
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        _ = parts.port
    except ValueError:
        is_usable = False
    if not is_usable or parts.query:
        text = f"found {name} as {given[:80]!r}, expected an http(s) URL or a path"
        raise FetchFailed("bad_discovery", text, url=url, rule="discovery", is_final=True)
    base = parts.geturl().rstrip("/") + "/"
    if len(base) > MAX_SERVICE_CHARACTERS:
        text = f"{name} has {len(base)} characters, expected at most {MAX_SERVICE_CHARACTERS}"
        raise FetchFailed("bad_discovery", text, url=url, rule="discovery", is_final=True)
    return base


def _parsed(said: fetching.Response, url: str, max_bytes: int) -> dict[str, Any]:
    body = b"".join(said.chunks(max_bytes))
    try:
        document = json.loads(body)
        if b"\\u" in body:
            _check_text(document)
    except (ValueError, RecursionError) as error:
        kind = said.headers.get_content_type()
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:120]
        text = f"found {kind} that is not JSON ({why}), expected a JSON object"
        raise FetchFailed("bad_json", text, url=url, status=said.status, rule="json", is_final=True) from None
    if not isinstance(document, dict):
        found = {list: "a list", str: "text", type(None): "null"}.get(type(document), "a number or a boolean")
        text = f"found JSON that is {found}, expected an object"
        raise FetchFailed("bad_shape", text, url=url, status=said.status, rule="shape", is_final=True)
    return document


def _check_text(document: Any) -> None:
    """Raise ValueError for text that no database stores: NUL, and halves of surrogate pairs."""
    text = json.dumps(document, ensure_ascii=False)
    text.encode()
    if "\\u0000" in text:
        raise ValueError("text with a NUL character")
