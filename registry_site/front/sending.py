"""Sending an answer that Django is not asked for: it counts as a download, and has its line in the log."""

import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.conf import settings

from apps.lib.text import redaction
from apps.releases.catalogue import downloads
from registry_site.front.table import Entry, Question
from registry_site.monitoring.clients import clients
from registry_site.server.connections import PATHSEND
from registry_site.server.middleware import access_fields, log, request_id_for

Send = Callable[[dict[str, Any]], Awaitable[None]]
_access = logging.getLogger("larder.access")


async def send_entry(question: Question, entry: Entry, send: Send, *, file: str = "") -> None:
    whole, user_agent = entry.whole, question.header(b"user-agent")
    request_id = request_id_for(question.header(b"x-request-id"))
    if entry.download is not None:
        release_id, user_id, token_id = entry.download
        downloads.record_download(release_id, user_id, downloads.client_of(user_agent), token_id)
    headers = [*whole.headers, (b"x-request-id", request_id.encode())]
    await send({"type": "http.response.start", "status": whole.status, "headers": headers})
    if file:
        await send({"type": PATHSEND, "path": file})
    else:
        await send({"type": "http.response.body", "body": whole.body, "more_body": False})
    _write_line(
        request_id,
        time.monotonic() - question.at,
        method=question.method,
        path=question.path,
        client=question.client,
        status=whole.status,
        authorization=question.scheme_of_credentials.decode("latin-1"),
        user_agent=user_agent,
        client_version=question.header(b"x-terraform-version"),
        route=entry.access.route,
        person=entry.access.person,
        release=entry.access.release,
    )
    clients.note(question.client)


def _write_line(request_id: str, seconds: float, **common: Any) -> None:
    """Write the access line as `RequestIdMiddleware` does. `common`: what `access_fields` takes besides the seconds."""
    if not _access.isEnabledFor(logging.INFO):
        return
    if settings.LOG_FORMAT != "json":
        log.info("request", request_id=request_id, **access_fields(seconds=seconds, **common))
        return
    before, after = _rendered(**common)
    at = datetime.now(UTC).isoformat().removesuffix("+00:00")
    own = f'"request_id": {json.dumps(request_id)}, "timestamp": "{at}Z", "ms": {seconds * 1000:.1f}'
    sys.stderr.write(f"{before}{own}, {after}\n")


@lru_cache(maxsize=2048)
def _rendered(**common: Any) -> tuple[str, str]:
    """Return the common parts of the access lines of equal requests. The logging stack takes three times as long as all
    the rest of a ready answer, most of it for the search for secrets.
    """
    fields = access_fields(seconds=0.0, **common) | {"event": "request", "level": "info", "logger": _access.name}
    before, _, after = redaction.redact_shapes(json.dumps(redaction.redact_all(fields))).partition('"ms": 0.0, ')
    return before, after
