"""Sending an answer that Django is not asked for: it counts as a download, and has its line in the log."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from apps.releases.catalogue import downloads
from registry_site.front.lease import Entry
from registry_site.front.table import Known, Question, known_of
from registry_site.monitoring.clients import clients
from registry_site.server.access_lines import access_lines
from registry_site.server.connections import PATHSEND
from registry_site.server.middleware import request_id_for

Send = Callable[[dict[str, Any]], Awaitable[None]]


async def send_entry(question: Question, entry: Entry, send: Send, *, file: str = "") -> None:
    request_id = request_id_for(question.header(b"x-request-id"))
    await send_known(known_of(question, entry), entry, send, request_id, question.at, file=file)


async def send_known(
    known: Known, entry: Entry, send: Send, request_id: str, arrived: float, *, file: str = ""
) -> None:
    whole = entry.whole
    if entry.download is not None:
        downloads.record_download(*entry.download, known.client)
    headers = [*whole.headers, (b"x-request-id", request_id.encode())]
    await send({"type": "http.response.start", "status": whole.status, "headers": headers})
    if file:
        await send({"type": PATHSEND, "path": file})
    else:
        await send({"type": "http.response.body", "body": whole.body, "more_body": False})
    access_lines.add(request_id, time.monotonic() - arrived, known.line)
    clients.note(known.address)
