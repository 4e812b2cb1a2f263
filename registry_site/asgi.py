"""The WSGI application behind granian's ASGI interface, in threads, streaming both ways.

Why not granian's own WSGI interface: in 2.8.7 its `wsgi.input.read(n)` never returns, and keeps a core busy, once an
HTTP/2 stream was reset in the middle of its body (a browser's cancelled upload is enough; found by measuring). Its
ASGI interface reports the disconnect. And why not a2wsgi's middleware whole: it hops between thread and loop for every
part of an answer, which doubled the time of a small one; this needs one hop, and holds no thread while a slow reader
takes a download.
"""

import asyncio
import contextvars
import string
import sys
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_from_bytes

from a2wsgi.asgi_typing import HTTPScope, Receive
from a2wsgi.wsgi import build_environ
from django.conf import settings

from registry_site import wsgi
from registry_site.request_body import RequestBody

Message = dict[str, Any]
Send = Callable[[Message], Awaitable[None]]

_END = object()


@dataclass(slots=True)
class Answer:
    """What the application answers: `whole`, or `parts` that are still to be made."""

    status: int = 500
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    whole: bytes = b""
    parts: Iterator[bytes] | None = None
    close: Callable[[], None] = lambda: None

    def start(self, status: str, headers: list[tuple[str, str]], _exc_info: object = None) -> Callable[[bytes], object]:
        """WSGI's start_response. Its write() is of the time before PEP 333's iterables; Django has no use for it."""
        self.status = int(status[:3])
        self.headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        return lambda _: None


def _call(environ: dict[str, Any]) -> Answer:
    answer = Answer()
    result: Any = wsgi.application(environ, answer.start)
    answer.close = result.close
    if result.streaming:
        answer.parts = iter(result)
    else:
        answer.whole = b"".join(result)
        result.close()
    return answer


def environ_of(scope: HTTPScope, body: RequestBody) -> dict[str, Any]:
    """a2wsgi's environ, mended in four places."""
    query = quote_from_bytes(scope["query_string"], safe=string.punctuation)  # it takes ASCII alone
    # X_Forwarded_For and X-Forwarded-For become one key of the environ: as nginx, drop what has an underscore.
    headers = [(name, value) for name, value in scope["headers"] if b"_" not in name]
    environ: dict[str, Any] = dict(build_environ({**scope, "query_string": query.encode(), "headers": headers}, body))
    # Browsers send one field for each cookie over HTTP/2; they are joined by "; " and not as a list (RFC 9113, 8.2.3).
    cookies = [value for name, value in scope["headers"] if name == b"cookie"]
    if cookies:
        environ["HTTP_COOKIE"] = b"; ".join(cookies).decode("latin-1")
    # HTTP/2 and chunked uploads send no length: the input ends with the body (D2).
    return environ | {"wsgi.input_terminated": True, "wsgi.errors": sys.stderr}


class ThreadedWsgi:
    """The ASGI application: each request's Python runs in one of `threads` threads."""

    def __init__(self, threads: int) -> None:
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="web")

    async def __call__(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        body = RequestBody(loop, receive)
        try:
            await self._answer(loop, environ_of(scope, body), send)
        finally:
            body.close()

    async def _answer(self, loop: asyncio.AbstractEventLoop, environ: dict[str, Any], send: Send) -> None:
        context = contextvars.copy_context()

        async def in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
            return await loop.run_in_executor(self.pool, context.run, work, *arguments)

        answer: Answer = await in_thread(_call, environ)
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        # A HEAD has the headers of a GET and nothing after them: over HTTP/2 granian would send the body all the same.
        is_head = environ["REQUEST_METHOD"] == "HEAD"
        if answer.parts is not None:
            try:
                while not is_head and (part := await in_thread(next, answer.parts, _END)) is not _END:
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            finally:
                await in_thread(answer.close)
        await send({"type": "http.response.body", "body": b"" if is_head else answer.whole, "more_body": False})


application = ThreadedWsgi(settings.WEB_THREADS)
