"""Access lines of ready answers. The logging stack costs ten times as much as the answer itself.

So what the lines of a client have in common is rendered once, and all lines of one turn of the event loop are written
together. The text is the same as that of `RequestIdMiddleware`.
"""

import asyncio
import json
import logging
import sys
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.conf import settings

from apps.lib import redaction
from registry_site.middleware import access_fields, log


class AccessLines:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._is_on = logging.getLogger("larder.access").isEnabledFor(logging.INFO)
        self._is_json = settings.LOG_FORMAT == "json"

    def add(self, request_id: str, seconds: float, **common: Any) -> None:
        """Takes what `access_fields` takes."""
        if not self._is_on:
            return
        if not self._is_json:
            log.info("request", request_id=request_id, **access_fields(seconds=seconds, **common))
            return
        if not self._lines:
            asyncio.get_running_loop().call_soon(self.flush)
        before, after = _rendered(**common)
        at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        own = f'"request_id": {json.dumps(request_id)}, "timestamp": "{at}", "ms": {seconds * 1000:.1f}'
        self._lines.append(f"{{{before}, {own}, {after}}}\n")

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        sys.stderr.write("".join(lines))
        sys.stderr.flush()


@lru_cache(4096)
def _rendered(**common: Any) -> tuple[str, str]:
    """The fields before `ms` and after it, as the logging stack renders them."""
    fields = access_fields(seconds=0.0, **common) | {"event": "request", "level": "info", "logger": "larder.access"}
    line = redaction.redact_shapes(json.dumps(redaction.redact_all(fields)))
    before, _, after = line[1:-1].partition(', "ms": 0.0, ')
    return before, after


access_lines = AccessLines()
