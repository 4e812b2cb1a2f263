"""The front: repeats what a view answered to the same question under the same generation, and knows no rules (D16).

`has_answered_at_once` and the table may be used in any thread; the rest runs on the event loop.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings

from apps.http.ready import Ready
from apps.releases.catalogue import downloads
from registry_site.front.archives import Archive, Archives, kind_of
from registry_site.front.lease import Lease
from registry_site.front.table import (
    FILE,
    Entry,
    Headers,
    Key,
    Known,
    Origin,
    Question,
    Recognition,
    Shared,
    Table,
    whole_of,
)
from registry_site.server.access_lines import access_lines
from registry_site.server.connections import PATHSEND, can_send_files, client_of, connections
from registry_site.server.middleware import request_id_for

# Below these paths nothing tells of a change to whoever made it: protocol reads, files that are named by their
# content, and static files.
_TELLS_NOTHING = re.compile(r"/(?:v1|archives|static|\.well-known)/|/(?:healthz|readyz|metrics)\Z")
_OCI = "/v2/"
_BLOBS = re.compile(r"/v2/.+/blobs/")
# Below these paths answers become ready, except for blobs.
_BECOMES_READY = re.compile(r"/(?:v1|v2|api/v1|\.well-known)/")
_IS_LOOKED_FOR = re.compile(r"/(?:v1|v2|api/v1|\.well-known|archives)/")
# A request waits so long for the answer to an equal one before it asks Django itself.
PATIENCE = 2.0

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Front:
    def __init__(
        self, lease: Lease | None = None, archives: Archives | None = None, shared: Shared | None = None
    ) -> None:
        self.lease = lease or Lease()
        self.table = Table(self.lease, most_bytes=settings.READY_BYTES)
        self.recognition = Recognition()
        self.archives = archives or Archives()
        self.shared = shared or Shared(None)
        self.misses = 0
        self._asking: dict[Key, asyncio.Future[bool]] = {}

    async def has_answered_at_once(self, scope: Any, send: Send) -> bool:
        """Answer in any thread, waiting for nothing, if an equal request was answered from the table before."""
        arrived = time.monotonic()
        known, asked_id = self.recognition.find(scope)
        if known is None or not self.lease.holds_unattended():
            return False
        entry = self.table.find(known.key)
        if entry is None or entry.whole.status != known.status:
            return False
        await _send(known, entry, send, request_id_for(asked_id), arrived)
        return True

    async def has_answered(self, scope: Any, question: Question, send: Send) -> bool:
        """Answer from the table if the answer is there and holds. In the loop's thread.

        If Django is being asked the same, wait for that answer: after a change one of many equal requests does the
        work. On False the caller asks Django, and calls `settle` when it has the answer or will never have one.
        """
        until = question.at + PATIENCE
        while True:
            entry = await self._find(question)
            if entry is not None:
                known = _known(question, entry)
                self.recognition.add(scope, known)
                await _send(known, entry, send, request_id_for(question.header(b"x-request-id")), question.at)
                return True
            asking = self._asking.get(question.key)
            if asking is None or not await _has_become_ready(asking, until - time.monotonic()):
                break
        self.misses += 1
        question.era, question.number = self.lease.era, self.lease.number
        archive = await self._archive(scope, question)
        if archive is not None:
            await self._send_archive(scope, question, archive, send)
            return True
        if _BECOMES_READY.match(question.path) and not _BLOBS.match(question.path):
            self._ask(question, question.key)
        return False

    async def _find(self, question: Question) -> Entry | None:
        """This process's answer, or else another one's, if it holds."""
        if question.key not in self.table and not _IS_LOOKED_FOR.match(question.path):
            return None
        # Also where nothing is there: what Django answers under an old number ends with the next renewal.
        if not await self.lease.holds():
            return None
        entry = self.table.find(question.key)
        if entry is not None:
            return entry
        entry = self.shared.find(question.key) if _BECOMES_READY.match(question.path) else None
        if entry is None or not self.lease.is_current_for_all(entry.scopes, entry.number):
            return None
        entry.era = self.lease.era
        self.table.add(question.key, entry)
        return self.table.find(question.key)

    async def _archive(self, scope: Any, question: Question) -> Archive | None:
        """The answer to a request for stored bytes; None where Django must answer."""
        asked = self.archives.asked(question)
        stored = await self.archives.find(asked.digest) if asked is not None else None
        if asked is None or stored is None:
            return None
        kind = kind_of(question, asked)
        if not self.archives.has_frame(kind):
            asking = self._asking.get(kind)
            if asking is None:
                self._ask(question, kind)
                return None
            await _has_become_ready(asking, PATIENCE)
        return self.archives.answer(question, asked, stored, can_send=can_send_files(scope))

    async def _send_archive(self, scope: Any, question: Question, archive: Archive, send: Send) -> None:
        """Send it; a small one that is whole answers equal requests from now on."""
        whole = whole_of(archive.status, archive.headers, archive.body)
        until = question.at + archive.seconds
        entry = Entry(whole, archive.scopes, question.era, question.number, until, None, archive.origin)
        if archive.status == HTTPStatus.OK and not archive.file:
            self.table.add(question.key, entry)
        self.table.count(entry)
        if archive.file:
            connections.sends_file(client_of(scope), question.path)
        request_id = request_id_for(question.header(b"x-request-id"))
        await _send(_known(question, entry), entry, send, request_id, question.at, file=archive.file)

    def _ask(self, question: Question, key: Key) -> None:
        """Let equal requests wait for this one's answer, unless they wait for another one's."""
        if key not in self._asking:
            question.asked_as = key
            self._asking[key] = asyncio.get_running_loop().create_future()

    def settle(self, question: Question, *, is_ready: bool) -> None:
        """Wake the requests that wait for this one's answer. Safe to repeat."""
        key, question.asked_as = question.asked_as, None
        if key is not None:
            self._asking.pop(key).set_result(is_ready)

    def store(
        self,
        question: Question,
        ready: Ready | None,
        *,
        status: int,
        headers: Headers,
        body: bytes,
        origin: Origin = Origin(),  # noqa: B008  # it cannot change
    ) -> bool:
        """Keep Django's answer for whoever asks the same; False if it must not or cannot be kept."""
        if ready is None:
            return self.archives.learn(question, status=status, headers=headers, origin=origin)
        is_personal = any(
            name == b"set-cookie" or (name == b"vary" and b"cookie" in value.lower()) for name, value in headers
        )
        if is_personal or ready.seconds <= 0:
            return False
        same = tuple((name, value) for name, value in headers if name != b"x-request-id")
        body = b"" if question.method == "HEAD" else body
        entry = Entry(
            whole_of(status, same, body),
            ready.scopes,
            question.era,
            question.number,
            question.at + ready.seconds,
            ready.download,
            origin,
        )
        self.table.add(question.key, entry)
        is_kept = question.key in self.table
        if is_kept:
            self.shared.add(question.key, entry)
        return is_kept

    async def tell(self, method: str, path: str, status: int) -> None:
        """Hold back an answer that may tell of a change until no process repeats what was before it."""
        if status < HTTPStatus.INTERNAL_SERVER_ERROR and may_tell(method, path):
            await self.lease.run_out()

    def figures(self) -> dict[str, int]:
        """The figures of this process, for /status."""
        table = self.table
        return {"answers": len(table), "bytes": table.bytes, "hits": table.hits, "misses": self.misses}


def may_tell(method: str, path: str) -> bool:
    """Tell whether an answer may tell of a change, which may be a worker's, to whoever made it.

    Reads of the protocols do not: whoever reads there has not been told yet.
    """
    if path.startswith(_OCI):
        return method not in ("GET", "HEAD") and not _BLOBS.match(path)
    return not _TELLS_NOTHING.match(path)


async def _has_become_ready(asking: asyncio.Future[bool], seconds: float) -> bool:
    await asyncio.wait([asking], timeout=max(0.0, seconds))
    return asking.done() and asking.result()


def _known(question: Question, entry: Entry) -> Known:
    status = entry.whole.status
    user_agent = question.header(b"user-agent")
    line = access_lines.line_of(
        method=question.method,
        path=question.path,
        client=question.client,
        status=status,
        authorization=question.scheme_of_credentials.decode("latin-1"),
        user_agent=user_agent,
        client_version=question.header(b"x-terraform-version"),
        route=entry.origin.route,
        person=entry.origin.person,
        release=entry.origin.release,
    )
    return Known(question.key, status, user_agent, line)


async def _send(known: Known, entry: Entry, send: Send, request_id: str, arrived: float, *, file: str = "") -> None:
    whole = entry.whole
    if entry.download is not None:
        downloads.record_download(*entry.download, downloads.client_of(known.user_agent))
    headers = [*whole.headers, (b"x-request-id", request_id.encode())]
    await send({"type": "http.response.start", "status": whole.status, "headers": headers})
    if file:
        await send({"type": PATHSEND, "path": file})
    else:
        await send({"type": "http.response.body", "body": whole.body, "more_body": False})
    access_lines.add(request_id, time.monotonic() - arrived, known.line)


front = Front(shared=Shared(FILE if settings.WEB_PROCESSES > 1 else None, most_bytes=settings.READY_BYTES))
