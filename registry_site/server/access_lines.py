"""Access lines of ready answers. The logging stack costs ten times as much as the answer itself.

So what the lines of equal requests have in common is rendered once, and a thread writes all lines of some milliseconds
together. The text is the same as that of `RequestIdMiddleware`.
"""

import contextlib
import json
import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.util import Finalize
from select import PIPE_BUF
from typing import Any

from django.conf import settings

from apps.lib.text import redaction
from registry_site.server.middleware import access_fields, log

# A line is written at once, and those of so many seconds after it together.
GATHERED = 0.005
# A reader of the log that does not keep up holds up the answers, as it does with the logging stack.
MOST = 10_000


@dataclass(frozen=True, slots=True)
class Line:
    """What the lines of equal requests have in common: the text before the fields of one request and after them."""

    before: str
    after: str
    fields: dict[str, Any]


class AccessLines:
    """`add` and `flush` may be called in any thread."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._are_there = threading.Event()
        self._writing = threading.Lock()
        self._is_on = logging.getLogger("larder.access").isEnabledFor(logging.INFO)
        self._is_json = settings.LOG_FORMAT == "json"

    def line_of(self, **common: Any) -> Line:
        """Takes what `access_fields` takes, but for the seconds."""
        if not (self._is_on and self._is_json):
            return Line("", "", common)
        fields = access_fields(seconds=0.0, **common) | {"event": "request", "level": "info", "logger": "larder.access"}
        text = redaction.redact_shapes(json.dumps(redaction.redact_all(fields)))
        before, _, after = text[1:-1].partition(', "ms": 0.0, ')
        return Line(before, after, {})

    def add(self, request_id: str, seconds: float, line: Line) -> None:
        if not self._is_on:
            return
        if not self._is_json:
            log.info("request", request_id=request_id, **access_fields(seconds=seconds, **line.fields))
            return
        quoted = f'"{request_id}"' if request_id.isascii() else json.dumps(request_id)
        at = datetime.now(UTC).isoformat().removesuffix("+00:00")
        own = f'"request_id": {quoted}, "timestamp": "{at}Z", "ms": {seconds * 1000:.1f}'
        self._lines.append(f"{{{line.before}, {own}, {line.after}}}\n")
        if not self._are_there.is_set():
            self._are_there.set()
        if len(self._lines) > MOST:
            self.flush()

    def flush(self) -> None:
        """Write what is there. Whoever writes a line another way calls this first, so that the lines stay in order."""
        if not self._lines:
            return
        with self._writing:
            for text in _pieces([self._lines.popleft() for _ in range(len(self._lines))]):
                sys.stderr.write(text)
                sys.stderr.flush()

    def start(self) -> None:
        """Write in the background from now on, and at a clean end of the process."""
        threading.Thread(target=self._run, daemon=True, name="access-lines").start()
        Finalize(None, self.flush, exitpriority=10)

    def _run(self) -> None:
        while True:
            self._are_there.wait()
            self._are_there.clear()
            with contextlib.suppress(OSError):
                self.flush()
            time.sleep(GATHERED)


def _pieces(lines: list[str]) -> Iterator[str]:
    """Join lines as far as a pipe takes them whole: other processes write to the same one."""
    piece: list[str] = []
    size = 0
    for line in lines:
        if size + len(line) > PIPE_BUF and piece:
            yield "".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line)
    yield "".join(piece)


access_lines = AccessLines()
