"""Sending an answer that Django is not asked for: it counts as a download, and has its line in the log."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from apps.releases.catalogue import downloads
from registry_site.front.table import Entry, Question
from registry_site.monitoring.clients import clients
from registry_site.server.connections import PATHSEND
from registry_site.server.middleware import access_fields, log, request_id_for

Send = Callable[[dict[str, Any]], Awaitable[None]]


async def send_entry(question: Question, entry: Entry, send: Send, *, file: str = "") -> None:
    whole, user_agent = entry.whole, question.header(b"user-agent")
    request_id = request_id_for(question.header(b"x-request-id"))
    if entry.download is not None:
        downloads.record_download(*entry.download, downloads.client_of(user_agent))
    headers = [*whole.headers, (b"x-request-id", request_id.encode())]
    await send({"type": "http.response.start", "status": whole.status, "headers": headers})
    if file:
        await send({"type": PATHSEND, "path": file})
    else:
        await send({"type": "http.response.body", "body": whole.body, "more_body": False})
    fields = access_fields(
        method=question.method,
        path=question.path,
        client=question.client,
        status=whole.status,
        seconds=time.monotonic() - question.at,
        authorization=question.scheme_of_credentials.decode("latin-1"),
        user_agent=user_agent,
        client_version=question.header(b"x-terraform-version"),
        route=entry.origin.route,
        person=entry.origin.person,
        release=entry.origin.release,
    )
    log.info("request", request_id=request_id, **fields)
    clients.note(question.client)
