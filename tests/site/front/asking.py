"""A process with a front, without the server: what is not ready is asked of Django, in the test's own transaction."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from django.db import connections
from django.test import Client

from apps.http.ready import ready_of
from registry_site.front.archives import Archives
from registry_site.front.changes import Changes
from registry_site.front.front import Front
from registry_site.front.table import AccessFields, Question, question_of
from registry_site.server.middleware import ACCESS_FIELDS

T = TypeVar("T")
PRIVATE_TO_EACH = b"x-request-id"
# Seconds to wait for a renewal: a machine that stalls must not send a test to Django for an answer that is ready.
PATIENCE = 20


@dataclass
class Answer:
    status: int
    headers: set[tuple[bytes, bytes]]
    body: bytes
    was_ready: bool


class Process:
    """Its changes and its archives are asked for through the test's connection, in threads, while the test waits."""

    def __init__(self) -> None:
        self.connection = connections["default"]
        self.connection.inc_thread_sharing()
        self.offers: dict[str, Any] = {}  # what the server adds to each scope
        self.loop = asyncio.new_event_loop()
        changes = Changes(lambda: self.connection, patience=PATIENCE)
        self.thread = ThreadPoolExecutor(1, initializer=connections.__setitem__, initargs=("default", self.connection))
        self.front = Front(changes, Archives(self.thread, rest=lambda: None))
        self.learn()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def learn(self) -> None:
        """Ask for changes now."""
        assert self.run(self.front.changes.ask())

    def ask(self, client: Client, url: str, method: str = "GET", **headers: str) -> Answer:
        scope = scope_of(client, url, method, headers) | self.offers
        question = question_of(scope)
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        if question is not None and self.run(self.front.has_answered(scope, question, send)):
            start, end = sent
            body = Path(end["path"]).read_bytes() if "path" in end else end["body"]
            return Answer(start["status"], _compared(start["headers"]), body, was_ready=True)
        response = client.generic(method, url, headers=headers)
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers.items()]
        body = response.getvalue()
        if question is not None:
            self.run(self.settle(question, response, raw, body))
        return Answer(response.status_code, _compared(raw), body, was_ready=False)

    async def settle(self, question: Question, response: Any, headers: Any, body: bytes) -> None:
        self.front.settle(question, is_ready=self.store(question, response, headers, body))

    def store(self, question: Question, response: Any, headers: Any, body: bytes) -> bool:
        return self.front.store(
            question,
            ready_of(response),
            status=response.status_code,
            headers=tuple(headers),
            body=body,
            access=AccessFields(**response.wsgi_request.META[ACCESS_FIELDS]),
        )

    def end(self) -> None:
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.run(asyncio.wait(tasks))
        self.loop.close()
        self.thread.shutdown()
        self.connection.dec_thread_sharing()


def as_django_says(process: Process, client: Client, url: str, method: str = "GET", **headers: str) -> Answer:
    """The answer of the process, which is that of a second one, which has to ask Django."""
    said, fresh = process.ask(client, url, method, **headers), Process()
    django = fresh.ask(client, url, method, **headers)
    fresh.end()
    assert not django.was_ready
    assert (said.status, said.headers, said.body) == (django.status, django.headers, django.body), (url, headers)
    return said


def scope_of(client: Client, url: str, method: str = "GET", headers: dict[str, str] | None = None) -> dict[str, Any]:
    path, _, query = url.partition("?")
    given = {"Host": "testserver", **(headers or {})}
    if "HTTP_AUTHORIZATION" in client.defaults:
        given["Authorization"] = client.defaults["HTTP_AUTHORIZATION"]
    if client.cookies:
        given["Cookie"] = client.cookies.output(header="", sep=";")
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", "40000"),
    }


def _compared(headers: Any) -> set[tuple[bytes, bytes]]:
    return {(name, value) for name, value in headers if name != PRIVATE_TO_EACH}
