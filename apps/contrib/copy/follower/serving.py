"""Reads of a follower: from its own tree, before a database, a session or a token is looked at.

The tree alone answers for what anonymous people may read. For the rest the leader says who may read a namespace; its
answer is remembered under a digest of the token, within the bounds that it gives. Links to packages are the follower's.
"""

import hashlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.utils import timezone

from apps.contrib.copy.edge import links
from apps.contrib.copy.follower import leader, trusting
from apps.contrib.copy.follower.leader import LeaderAway, Said
from apps.contrib.copy.tree import layout
from apps.contrib.copy.tree.folders import Folder
from apps.http.byte_ranges import byte_response
from apps.http.errors import failure_of, registry_dialect
from apps.http.views import CHALLENGE
from apps.lib.errors import NotFound, RegistryError, Unavailable, UnknownOrPrivate

MOST_PERMISSIONS = 20_000
# What a follower answers as any Larder does: the state of its own processes, and its staff.
OWN = re.compile(r"/(?:healthz|readyz|metrics|status|static/.*|account/.*|admin/.*)")
_PACKAGE = re.compile(rb'"(/packages/[^"]+)"')
_LOCATION = re.compile(rb'"location":\s*"([^"]+)"')


class Permissions:
    """The leader's answers of this process, by a digest of token and namespace."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: OrderedDict[str, tuple[float, Said]] = OrderedDict()

    def status(self, scope: str, authorization: str) -> int:
        """Return 200, 401 or 403. Raises LeaderAway where there is no answer, or none that counts still."""
        key, now = hashlib.sha256(f"{scope} {authorization}".encode()).hexdigest(), time.monotonic()
        with self._lock:
            at, known = self._said.get(key, (now, None))
        if known and now < at + known.fresh:
            return known.status
        try:
            said = leader.authorise(scope, authorization)
        except LeaderAway:
            if known and now < at + known.fresh + known.stale:
                return known.status
            raise
        with self._lock:
            self._said[key] = (now, said)
            self._said.move_to_end(key)
            if len(self._said) > MOST_PERMISSIONS:
                self._said.popitem(last=False)
        return said.status


class Follower:
    """Middleware: answers what the tree has, and sends everything but the follower's own pages to the leader."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        if not settings.FOLLOW.url:
            raise MiddlewareNotUsed
        self.get_response, self.permissions = get_response, Permissions()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if OWN.fullmatch(request.path):
            return self.get_response(request)
        is_link = request.path.startswith("/p/")
        is_here = is_link or request.path[1:] == layout.DISCOVERY or bool(links.scope_of(request.path))
        if request.method not in ("GET", "HEAD") or not is_here:
            moved = HttpResponseRedirect(f"{settings.FOLLOW.url}{request.get_full_path()}")
            moved.status_code = HTTPStatus.TEMPORARY_REDIRECT
            return moved
        try:
            return self._read_by_link(request) if is_link else self._read(request)
        except RegistryError as error:
            return _refusal(request, error)

    def _read_by_link(self, request: HttpRequest) -> HttpResponseBase:
        path = links.opened_by(request.path, now=timezone.now(), secret=settings.SECRET_KEY)
        if not path or not layout.is_place(path[1:]):
            raise links.LinkRefused
        return _answer(request, path[1:], is_public=False)

    def _read(self, request: HttpRequest) -> HttpResponseBase:
        place, authorization = request.path[1:], request.headers.get("Authorization", "")
        if not layout.is_place(place):
            raise NotFound("There is nothing at this address.")
        if _file(place, is_public=True).is_file():
            return _answer(request, place, is_public=True)
        scope = links.scope_of(request.path)
        if not authorization or not scope:
            raise UnknownOrPrivate
        try:
            status = self.permissions.status(scope, authorization)
        except LeaderAway as away:
            raise Unavailable(
                f"{settings.FOLLOW.url}, which says who may read this, does not answer, and has not answered for this "
                f"token and namespace lately: {away}"
            ) from None
        if status == HTTPStatus.UNAUTHORIZED:
            raise UnknownOrPrivate
        if status != HTTPStatus.OK:
            raise NotFound("There is nothing here that you can see.")
        return _answer(request, place, is_public=False)


def _answer(request: HttpRequest, place: str, *, is_public: bool) -> HttpResponseBase:
    """Raises NotFound."""
    path, tree = _file(place, is_public=is_public), Folder(trusting.root())
    try:
        if not place.startswith("packages/"):
            return _document(path.read_bytes(), place, is_public=is_public)
        size = path.stat().st_size
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise NotFound("There is nothing here that you can see.") from None
    headers = {
        "Content-Type": "application/zip" if place.endswith(".zip") else "application/octet-stream",
        "Cache-Control": f"public, max-age={settings.PUBLIC_ARCHIVE_MAX_AGE}" if is_public else "private",
        "X-Content-Type-Options": "nosniff",
    }
    etag = f'"{path.stat().st_mtime_ns:x}-{size:x}"'

    def read(part: range) -> Iterator[bytes]:
        # Opened at the first step: an answer that nobody reads leaves no file open.
        yield from tree.read(layout.path_of(place, is_public=is_public), part.start, part.stop)

    return byte_response(request, size=size, etag=etag, headers=headers, read=read)  # type: ignore[arg-type]  # of REST framework, whose parts it does not use


def _document(data: bytes, place: str, *, is_public: bool) -> HttpResponse:
    if not is_public:  # clients fetch packages without their token
        data = _PACKAGE.sub(_with_link, data)
    headers = {"Cache-Control": "no-cache" if is_public else "private, no-cache", "X-Content-Type-Options": "nosniff"}
    if place.startswith("v1/modules/") and place.endswith("/download") and (found := _LOCATION.search(data)):
        headers["X-Terraform-Get"] = found[1].decode()
    return HttpResponse(data, content_type="application/json", headers=headers)


def _with_link(found: re.Match[bytes]) -> bytes:
    path = found[1].decode()
    return f'"{links.prefix_for(links.scope_of(path), now=timezone.now(), secret=settings.SECRET_KEY)}{path}"'.encode()


def _file(place: str, *, is_public: bool) -> Path:
    return trusting.root() / layout.path_of(place, is_public=is_public)


def _refusal(request: HttpRequest, error: RegistryError) -> HttpResponse:
    failure = failure_of(error, request)
    headers = {"Cache-Control": "no-store"} | (getattr(error, "headers", None) or {})
    if failure.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = CHALLENGE
    if failure.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = "5"
    return JsonResponse(registry_dialect(failure), status=failure.status, headers=headers)
