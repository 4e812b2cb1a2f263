"""The WSGI application behind granian's ASGI interface, in threads, streaming both ways.

A request gets a thread only when there is work: small bodies are gathered first, health checks need none, and uploads,
which wait for their senders, have their own threads. Slow senders and readers wait on the loop.

Why not granian's own WSGI interface: in 2.8.7 its `wsgi.input.read(n)` never returns, and keeps a core busy, once an
HTTP/2 stream was reset in the middle of its body (a browser's cancelled upload is enough). Its ASGI interface reports
the disconnect. Why not a2wsgi's middleware: it hops between thread and loop for every part of an answer, which doubled
the time of a small one. This needs one hop, and no thread while a slow reader takes a download.
"""

import asyncio
import contextlib
import contextvars
import io
import json
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import structlog
from a2wsgi.asgi_typing import HTTPScope, Receive
from django.conf import settings
from django.core.handlers.wsgi import get_path_info
from django.db import close_old_connections
from django.http.cookie import parse_cookie
from django.urls import Resolver404, resolve

from apps.http.ready import OPENED_BLOB, Ready, ready_of
from apps.lib.errors import RegistryError
from apps.lib.net import bodies
from apps.lib.net.bodies import Disconnected
from apps.lib.process import outside
from registry_site import wsgi

# isort: split
# After wsgi, which loads the apps: since Python 3.14 granian's workers are no forks of a process that did.
from apps.http import byte_ranges
from apps.jobs.waiting import ASKED
from apps.releases.lifecycle.quarantine import blocked
from registry_site.front.front import front
from registry_site.front.oci import TOKEN
from registry_site.front.table import AccessFields, Question, question_of
from registry_site.server import probes
from registry_site.server.connections import PATHSEND, client_of, connections, is_http2
from registry_site.server.documents import NOSNIFF, send_document
from registry_site.server.environ import environ_of
from registry_site.server.lanes import Lanes
from registry_site.server.middleware import ACCESS_FIELDS
from registry_site.server.request_body import Gathering, RequestBody, Sender
from registry_site.server.threads import CountedThreads
from registry_site.server.waiting import WaitingRoom

log = structlog.get_logger("larder.asgi")
Message = dict[str, Any]
Send = Callable[[Message], Awaitable[None]]

READ_ONLY = ("GET", "HEAD", "OPTIONS", "TRACE")  # no view reads a body with these
# granian buffers four pieces of a download before it waits for the reader.
PIECE = 64 * 1024
# An HTTP/1.1 sender that has read the head of a refusal stops within this time.
QUIET_SECONDS = 1.0
# A request takes the GIL again after each query and each hand-over, and waits so long for a thread that computes.
# Python's 5 ms made reads of 5 ms take 170 while one thread refused slow clients, and 30 with this.
SWITCH_SECONDS = 0.001
UNTOLD = "The database went down during this request. The change may have been made: check before you repeat it."
_END = object()


@dataclass(slots=True)
class Answer:
    """The application's answer: `whole`, an iterator of `parts`, or a `file` that granian sends."""

    status: int = 500
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    whole: bytes = b""
    parts: Iterator[bytes] | None = None
    file: str = ""
    close: Callable[[], None] = lambda: None
    ready: Ready | None = None

    def start(self, status: str, headers: list[tuple[str, str]], _exc_info: object = None) -> Callable[[bytes], object]:
        """WSGI's start_response. Django does not use the write() that it returns."""
        self.status = int(status[:3])
        # Django writes a space before a cookie, which makes an answer over HTTP/2 malformed (RFC 9113, 8.2.1).
        self.headers = [(name.lower().encode("latin-1"), value.strip().encode("latin-1")) for name, value in headers]
        return lambda _: None


def _call(environ: dict[str, Any]) -> Answer:
    answer = Answer()
    result: Any = wsgi.application(environ, answer.start)
    answer.close = result.close
    if result.streaming:
        answer.parts = iter(result)
        # Another thread may make the last part; this one must not keep a connection until then.
        close_old_connections()
    else:
        answer.ready = ready_of(result)
        if isinstance(result, byte_ranges.WholeFile):
            answer.file = str(result.path)
        answer.whole = b"".join(result)
        result.close()
    return answer


def _store(question: Question, answer: Answer, environ: dict[str, Any]) -> bool:
    return front.store(
        question,
        answer.ready,
        status=answer.status,
        headers=tuple(answer.headers),
        body=answer.whole,
        access=AccessFields(**environ.get(ACCESS_FIELDS, {})),
    )


def _next(parts: Iterator[bytes]) -> Any:
    try:
        return next(parts, _END)
    finally:
        close_old_connections()


class Application:
    """The ASGI application. Only uploads wait for their client in a thread.

    Whose body did not come is refused in a thread of its own, one after the other: when many slow clients reach their
    time-out together, reads would otherwise wait for each of them to leave a thread and the GIL.
    """

    def __init__(self) -> None:
        self.lanes = Lanes()
        self.upload_threads = CountedThreads(settings.UPLOAD_THREADS, "upload", is_for_machines=True)
        self.refusal_thread = ThreadPoolExecutor(1, thread_name_prefix="refusal")
        self.readiness_thread = ThreadPoolExecutor(1, thread_name_prefix="readyz")
        self.gathering = Gathering()
        self.waiting_room = WaitingRoom()
        self.asking: asyncio.Task[None] | None = None  # whether the database is there

    async def __call__(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        if self.asking is None and settings.SERVE_STALE_SECONDS:
            self.asking = asyncio.get_running_loop().create_task(front.changes.keep_asking())
        with connections.request(client_of(scope)):
            await self._handle(scope, receive, send)

    async def _handle(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        if scope["method"] in ("GET", "HEAD") and scope["path"] == "/healthz":
            await send_document(send, scope, HTTPStatus.OK, probes.ALIVE)
        elif scope["method"] in ("GET", "HEAD") and scope["path"] == "/readyz":
            status, document = await asyncio.get_running_loop().run_in_executor(self.readiness_thread, probes.readiness)
            await send_document(send, scope, status, document)
        else:
            question = question_of(scope)
            if question is not None and await front.has_answered(scope, question, send):
                return
            try:
                await RequestCycle(self, scope, Sender(receive), send, question).run()
            finally:
                if question is not None:
                    front.settle(question, is_ready=False)


class Stalled(Exception):
    """The client has stopped reading its answer."""


class RequestCycle:
    def __init__(
        self, application: Application, scope: HTTPScope, sender: Sender, send: Send, question: Question | None
    ) -> None:
        self.application = application
        self.question = question
        self.threads: ThreadPoolExecutor = application.lanes.of(scope["path"])
        self.sender = sender
        self.send = send
        self.environ = environ_of(scope)
        if question is not None and question.opened_blob:
            self.environ[OPENED_BLOB] = question.opened_blob
        self.client = client_of(scope)
        self.method, self.path = scope["method"], scope["path"]
        self.is_http2 = is_http2(scope)
        self.context = contextvars.copy_context()

    async def run(self) -> None:
        try:
            await self._run()
        except Stalled:
            log.info("client_stalled", path=self.environ["PATH_INFO"])
            # Over HTTP/2 the connection may carry other answers, so only this one ends early.
            if not self.is_http2:
                connections.cut(self.client)

    async def _run(self) -> None:
        view = None
        if self.method not in READ_ONLY:
            with contextlib.suppress(Resolver404):
                view = resolve(get_path_info(self.environ)).func
        if view is None:
            await self._answer()
        elif bodies.is_streamed(view, self.method):
            # Let the view read the body as it arrives, in a thread that may have to wait.
            self.threads = self.application.upload_threads
            body = RequestBody(asyncio.get_running_loop(), self.sender)
            self.environ["wsgi.input"] = body
            try:
                if not self._asks_first():
                    refusal = await body.receive_first_bytes(self.application.gathering)
                    self.environ[bodies.ARRIVED] = body.has_arrived
                    if refusal is not None:
                        self.threads = self.application.refusal_thread
                        if self.method != "PATCH":  # it continues an upload, and what came counts
                            self.environ[bodies.REFUSAL] = refusal
                await self._answer(body)
            finally:
                await body.close()
        else:
            await self._gather()

    def _asks_first(self) -> bool:
        """Return whether the client waits for `100 Continue`, which the first read of the body sends."""
        return bool(self.environ.get("HTTP_EXPECT", "").lower() == "100-continue")

    async def _gather(self) -> None:
        """Call the view with the whole body, or with the reason why there is none."""
        if bodies.refusal(self.environ, limit=settings.JSON_MAX_BYTES) is not None:  # the length is too large
            await self._answer()
            return
        with self.application.gathering.place() as place:
            try:
                body = await self.application.gathering.body(self.sender, place, limit=settings.JSON_MAX_BYTES)
                self.environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
            except Disconnected:
                # Only the sender of a broken chunk reads it; the others are gone.
                await self._send(Answer(HTTPStatus.BAD_REQUEST, [NOSNIFF]))
                return
            except RegistryError as refusal:
                self.environ[bodies.REFUSAL] = refusal
                self.threads = self.application.refusal_thread
            await self._answer()

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, self.context.run, work, *arguments)

    async def _called(self) -> Answer:
        """Call Django, once it is this request's turn."""
        has_session = settings.SESSION_COOKIE_NAME in parse_cookie(self.environ.get("HTTP_COOKIE", ""))
        async with self.application.lanes.turn(self.threads, self.method, self.path, has_session=has_session):
            answer: Answer = await self._in_thread(_call, self.environ)
        return answer

    async def _answer(self, body: RequestBody | None = None) -> None:
        if self.path == TOKEN and (issued := await front.stale.token_for(self.environ)) is not None:
            await self._send(Answer(issued.status, list(issued.headers), issued.body))
            return
        was_away, at, known = front.changes.outage.is_sure, time.monotonic(), (front.changes.era, front.changes.number)
        answer = await self._called()
        front.stale.keep_source_token(answer.ready, at, known)
        if self.question is not None:
            front.settle(self.question, is_ready=_store(self.question, answer, self.environ))
        if body is not None:
            await body.close()
        while (waiting := self.environ.get(ASKED)) is not None:
            await self.application.waiting_room.wait(waiting)
            if isinstance(whole := self.environ["wsgi.input"], io.BytesIO):
                whole.seek(0)  # the view reads its body again
            answer = await self._called()
        is_refused = answer.status == HTTPStatus.SERVICE_UNAVAILABLE  # the database may have gone meanwhile
        if is_refused and self.question is not None and await front.stale.has_answered(self.question, self.send):
            answer.close()
            return
        if not await front.tell(self.method, path := self.environ["PATH_INFO"], answer.status, was_away=was_away):
            answer.close()
            answer = untold(self.method, path)
        if answer.status == HTTPStatus.REQUEST_TIMEOUT and not self.is_http2:
            answer.headers.append((b"connection", b"close"))
        if self._is_refusal(answer):
            await self._refuse(answer)
        else:
            await self._send(answer)

    async def _send(self, answer: Answer) -> None:
        await self.send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        if answer.file:
            connections.sends_file(self.client, self.environ["PATH_INFO"])
            await self.send({"type": PATHSEND, "path": answer.file})
            return
        # HEAD answers without a body: over HTTP/2 granian would send it.
        is_head = self.method == "HEAD"
        if answer.parts is not None:
            try:
                while not is_head and (part := await self._next(answer.parts)) is not _END:
                    for start in range(0, len(part), PIECE):
                        await self._send_body(part[start : start + PIECE], more=True)
            finally:
                await self._in_thread(answer.close)
        await self._send_body(b"" if is_head else answer.whole, more=False)

    async def _next(self, parts: Iterator[bytes]) -> Any:
        """Make the next part, which may wait for storage: not in all threads at once."""
        async with self.application.lanes.storage.turn():
            return await self._in_thread(_next, parts)

    async def _send_body(self, body: bytes, *, more: bool) -> None:
        try:
            async with asyncio.timeout(2 * settings.CLIENT_TIMEOUT):
                await self.send({"type": "http.response.body", "body": body, "more_body": more})
        except TimeoutError:
            raise Stalled from None

    # --- Refusals -----------------------------------------------------------------------------------------------------

    def _is_refusal(self, answer: Answer) -> bool:
        """Return whether the answer is an error while the sender may still be sending the body."""
        if self.method not in ("PUT", "POST", "PATCH") or self.sender.is_done or self.sender.is_gone:
            return False
        return answer.parts is None and HTTPStatus.BAD_REQUEST <= answer.status != HTTPStatus.REQUEST_TIMEOUT

    async def _refuse(self, answer: Answer) -> None:
        """Keep the request open until its sender has read the refusal and stopped.

        After a complete answer the server resets an HTTP/2 stream or closes an HTTP/1.1 connection. A client that still
        sends sees only that and not the 401 or 413: curl 7.88 (Debian 12) reports the reset stream. Clients stop after
        they have read an error; until then their bytes are dropped on the loop.
        """
        if not self.sender.has_begun and self._asks_first():  # it has sent nothing yet
            await self._send(answer)
            return
        # Over HTTP/2 without a length curl sends everything first. An answer after the end of the body resets nothing.
        if not answer.whole or (self.is_http2 and "CONTENT_LENGTH" not in self.environ):
            await self.sender.drop()
            await self._send(answer)
            return
        if not any(name == b"content-length" for name, _ in answer.headers):
            answer.headers.append((b"content-length", str(len(answer.whole)).encode()))
        # granian closes an HTTP/1.1 connection after the last byte, so hold it back until the sender is silent.
        held_back = 0 if self.is_http2 else 1
        end = len(answer.whole) - held_back
        await self.send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await self._send_body(answer.whole[:end], more=True)
        await self.sender.drop(quiet=None if self.is_http2 else QUIET_SECONDS)
        await self._send_body(answer.whole[end:], more=False)


def untold(method: str, path: str) -> Answer:
    """Return the answer in place of one that may not be sent yet: not every process can know of its change."""
    said = "The database is down." if method in READ_ONLY else UNTOLD
    error = {"code": "unavailable", "message": said, "hint": "Try again in a few seconds."}
    kind = b"application/json" if (is_api := path.startswith("/api/")) else b"text/plain; charset=utf-8"
    headers = [(b"content-type", kind), (b"cache-control", b"no-store"), (b"retry-after", b"2"), NOSNIFF]
    return Answer(HTTPStatus.SERVICE_UNAVAILABLE, headers, (json.dumps({"error": error}) if is_api else said).encode())


# The parent process sends it before it stops this one: see serving.py.
signal.signal(signal.SIGUSR1, lambda *_: probes.stopping.set())
sys.setswitchinterval(SWITCH_SECONDS)
connections.watch()
outside.watch()
application = Application()
blocked.newest = lambda: front.changes.history
