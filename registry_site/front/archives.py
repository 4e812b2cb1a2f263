"""Archives, packages, sums and signatures without Django (D6): small ones from memory, larger ones as files.

Everything runs on the event loop, except `_look`: one thread asks the database and reads small files, at once for all
requests that came while it was busy. Where only a view can decide, the answer is None, and Django's.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from http import HTTPStatus

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections
from django.utils import timezone

from apps.accounts.models import Visibility
from apps.audit import generation
from apps.blobs import store
from apps.http import mirrors
from apps.http.byte_ranges import NotSatisfiable, requested_range
from apps.http.ready import LONGEST
from apps.lib.errors import RegistryError
from apps.lib.mirrored import MirroredPackage, PackageLink
from apps.protocol.last_public import last_public
from apps.protocol.locations import Asked, asked_at, disposition_of
from apps.releases import fetchable
from apps.releases.lifecycle.quarantine import blocked
from registry_site.front.table import ARCHIVES, MIRROR, AccessFields, Headers, Key, Question

# Larger ones are sent as files.
SMALL_BYTES = 64 * 1024
# Digests of one query, and kinds of answers.
MOST_DIGESTS = 200
MOST_FRAMES = 256
# A request waits so long for the database before it goes to Django.
PATIENCE = 2.0
_OWN = (b"content-length", b"etag", b"content-disposition")
_UNUSUAL = frozenset((b"content-encoding", b"location", b"set-cookie", b"x-accel-redirect"))

Wanted = str | PackageLink  # a digest, or a package of another registry

log = structlog.get_logger("larder.front")


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that may be fetched: the visibility of their namespaces, a small body, or the path of a checked file.

    `package`: they are of another registry, and no namespace has them.
    """

    digest: str
    places: Mapping[str, str]
    size: int
    body: bytes | None
    file: str
    package: MirroredPackage | None = None
    seconds: float = LONGEST


@dataclass(frozen=True, slots=True)
class Frame:
    """The common parts of Django's answers of a kind: to the same host, by the same kind of link, for one suffix."""

    headers: Headers
    access: AccessFields


@dataclass(frozen=True, slots=True)
class Archive:
    """A whole answer; `file` instead of the body where the server sends it. `may_stay`: it may be repeated."""

    status: int
    headers: Headers
    body: bytes
    file: str
    scopes: Collection[str]
    seconds: float
    access: AccessFields
    is_public: bool
    may_stay: bool


class Archives:
    def __init__(self, thread: Executor | None = None, rest: Callable[[], None] = close_old_connections) -> None:
        self._thread = thread or ThreadPoolExecutor(1, thread_name_prefix="archives")
        self._rest = rest
        self._wanted: dict[Wanted, asyncio.Future[Stored | None]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._frames: dict[Key, Frame] = {}

    def asked(self, question: Question) -> Asked | None:
        """Return the archive that the request names, if it may be answered here."""
        if not question.path.startswith((ARCHIVES, MIRROR)) or b"if-none-match" in question.headers:
            return None
        if settings.ACCEL_REDIRECT or not store.is_on_this_host():
            return None
        return asked_at(question.path, now=timezone.now())

    async def find(self, what: Wanted) -> Stored | None:
        """Look it up after now, together with others."""
        wanted = self._wanted.get(what)
        if wanted is None:
            loop = asyncio.get_running_loop()
            wanted = self._wanted[what] = loop.create_future()
            if self._looking is None or self._looking.done():
                self._looking = loop.create_task(self._look_for_all())
        await asyncio.wait([wanted], timeout=PATIENCE)
        return wanted.result() if wanted.done() else None

    async def _look_for_all(self) -> None:
        while self._wanted:
            # Who comes from now on knows of later changes, and waits for the next look.
            batch = {what: self._wanted.pop(what) for what in list(self._wanted)[:MOST_DIGESTS]}
            found: Mapping[Wanted, Stored] = {}
            try:
                found = await asyncio.get_running_loop().run_in_executor(self._thread, self._look, list(batch))
            finally:
                for what, wanted in batch.items():
                    wanted.set_result(found.get(what))

    def _look(self, batch: Collection[Wanted]) -> dict[Wanted, Stored]:
        """Ask what may be fetched, and read it."""
        digests = [what for what in batch if isinstance(what, str)]
        links = [what for what in batch if not isinstance(what, str)]
        self._rest()
        try:
            places = fetchable.places_of(digests) if digests else {}
            packages = mirrors.others.fetchable(links) if links and mirrors.others is not None else {}
        except (DatabaseError, InterfaceError) as error:
            log.warning("database_away", error=type(error).__name__)
            return {}
        finally:
            self._rest()
        found: dict[Wanted, Stored] = {}
        for digest, shown in places.items():
            if (stored := _read(digest, shown)) is not None:
                found[digest] = stored
                # Where the database is away, the view goes on with what was public.
                last_public.update(digest, fetchable.public_places(shown))
        for link, opened in packages.items():
            package = opened.package
            visibility = Visibility.PUBLIC if package.is_public else Visibility.PRIVATE
            place = {generation.published_at(str(link.provider)): visibility}
            if (stored := _read(package.digest, place)) is not None:
                found[link] = replace(stored, package=package, seconds=opened.seconds)
        return found

    def learn_blocked(self) -> None:
        """Read the list of what is in quarantine now, which is read again every two seconds anyway."""

        def read() -> None:
            try:
                blocked.renew()
            except (DatabaseError, InterfaceError) as error:
                log.warning("database_away", error=type(error).__name__)
            finally:
                self._rest()

        asyncio.get_running_loop().run_in_executor(self._thread, read)

    def has_frame(self, kind: Key) -> bool:
        return kind in self._frames

    def answer(self, question: Question, asked: Asked, stored: Stored, *, can_send: bool) -> Archive | None:
        """Write the answer as Django writes those of its kind."""
        places = sorted(stored.places)
        if asked.seconds is None:
            places = [name for name in places if stored.places[name] == Visibility.PUBLIC]
        frame = self._frames.get(kind_of(question, asked))
        if frame is None or not places:
            return None
        status, part, file = HTTPStatus.OK, range(stored.size), ""
        more: Headers = ()
        etag = f'"{stored.digest}"'
        if question.method == "GET":
            try:
                wanted = requested_range({"Range": question.header(b"range")}, size=stored.size, etag=etag)
            except NotSatisfiable:
                return None
            if wanted is not None:
                status, part = HTTPStatus.PARTIAL_CONTENT, wanted
                more = ((b"content-range", f"bytes {part.start}-{part.stop - 1}/{stored.size}".encode()),)
            if stored.body is None:
                if wanted is not None or not can_send or not stored.file:
                    return None
                file = stored.file
        own = {
            b"content-length": str(len(part)).encode(),
            b"etag": etag.encode(),
            b"content-disposition": disposition_of(asked.file_name).encode("latin-1"),
        }
        headers = (*((name, own.get(name, value)) for name, value in frame.headers), *more)
        body = (stored.body or b"")[part.start : part.stop] if question.method == "GET" else b""
        seconds = min(LONGEST, stored.seconds) if asked.seconds is None else min(LONGEST, asked.seconds)
        is_public = asked.seconds is None
        may_stay = stored.package is None or is_public
        return Archive(status, headers, body, file, {places[0]}, seconds, frame.access, is_public, may_stay)

    def record_use(self, question: Question, asked: Asked, stored: Stored) -> None:
        """Count the fetch of a package of another registry, as its view does. What is repeated is not counted again."""
        if (
            question.method == "GET"
            and asked.link is not None
            and stored.package is not None
            and mirrors.others is not None
        ):
            mirrors.others.record_use(asked.link.provider, stored.package)

    def learn(self, question: Question, *, status: int, headers: Headers, access: AccessFields) -> bool:
        """Keep what Django's answers of this kind have in common; False if this one does not show it."""
        asked = self.asked(question) if status == HTTPStatus.OK else None
        given = dict(headers)
        if asked is None or len(given) != len(headers) or _UNUSUAL & given.keys() or not given.keys() >= set(_OWN):
            return False
        if asked.seconds is None and not given.get(b"cache-control", b"").startswith(b"public"):
            return False  # a token opened it
        if len(self._frames) >= MOST_FRAMES:
            self._frames.pop(next(iter(self._frames)))
        same = tuple((name, value) for name, value in headers if name != b"x-request-id")
        self._frames[kind_of(question, asked)] = Frame(same, AccessFields(route=access.route))
        return True


def kind_of(question: Question, asked: Asked) -> Key:
    scheme, host = question.key[1], question.headers[b"host"]
    suffix = next(suffix for suffix in (".zip", "SUMS", ".sig") if asked.file_name.endswith(suffix))
    what, how = "archive" if asked.link is None else "package", "plain" if asked.seconds is None else "capability"
    return (what, scheme, host, how, suffix)


def _read(digest: str, places: Mapping[str, str]) -> Stored | None:
    """None where Django says what is wrong."""
    try:
        store.require_sound(digest)
        size = store.size_of(digest)
        if size is None:
            return None
        if size <= SMALL_BYTES:
            return Stored(digest, places, size, b"".join(store.read(digest)), "")
        file = store.verified_file(digest)
    except (RegistryError, OSError):
        return None
    return Stored(digest, places, size, None, str(file.path) if file else "")
