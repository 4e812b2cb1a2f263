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
from registry_site.front.lease import Lease
from registry_site.front.questions import Key, Known, Question, Recognition
from registry_site.front.table import Entry, Headers, Origin, Table, whole_of
from registry_site.server.access_lines import access_lines
from registry_site.server.middleware import request_id_for

# Below these paths nothing tells of a change to whoever made it: protocol reads, files that are named by their
# content, and static files.
_TELLS_NOTHING = re.compile(r"/(?:v1|archives|static|\.well-known)/|/(?:healthz|readyz|metrics)\Z")
_OCI = "/v2/"
_BLOBS = re.compile(r"/v2/.+/blobs/")
# Below these paths answers become ready, except for blobs.
_BECOMES_READY = re.compile(r"/(?:v1|v2|api/v1|\.well-known)/")
# A request waits so long for the answer to an equal one before it asks Django itself.
PATIENCE = 2.0

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Front:
    def __init__(self, lease: Lease | None = None) -> None:
        self.lease = lease or Lease()
        self.table = Table(self.lease, most_bytes=settings.READY_BYTES)
        self.recognition = Recognition()
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
            if question.key in self.table and await self.lease.holds():
                entry = self.table.find(question.key)
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
        becomes_ready = _BECOMES_READY.match(question.path) and not _BLOBS.match(question.path)
        if becomes_ready and question.key not in self._asking:
            question.asking = self._asking[question.key] = asyncio.get_running_loop().create_future()
        return False

    def settle(self, question: Question, *, is_ready: bool) -> None:
        """Wake the requests that wait for this one's answer. Safe to repeat."""
        asking, question.asking = question.asking, None
        if asking is not None:
            del self._asking[question.key]
            asking.set_result(is_ready)

    def store(
        self,
        question: Question,
        ready: Ready,
        *,
        status: int,
        headers: Headers,
        body: bytes,
        origin: Origin = Origin(),  # noqa: B008  # it cannot change
    ) -> bool:
        """Keep Django's answer for whoever asks the same; False if it must not or cannot be kept."""
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
            ready.noted,
            origin,
        )
        self.table.add(question.key, entry)
        return question.key in self.table

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


async def _send(known: Known, entry: Entry, send: Send, request_id: str, arrived: float) -> None:
    whole = entry.whole
    if entry.noted is not None:
        entry.noted(known.user_agent)
    headers = [*whole.headers, (b"x-request-id", request_id.encode())]
    await send({"type": "http.response.start", "status": whole.status, "headers": headers})
    await send({"type": "http.response.body", "body": whole.body, "more_body": False})
    access_lines.add(request_id, time.monotonic() - arrived, known.line)


front = Front()
