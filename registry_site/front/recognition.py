"""Requests that were answered from the table, so that the next equal one is neither parsed nor described again.

Equal means: in every byte that a question is made of, and in all headers, but for the request's own id. A request is
known by a digest: the process keeps no secrets.
"""

import hashlib
import marshal
from dataclasses import dataclass
from typing import Any

from registry_site.front.access_lines import Line
from registry_site.front.questions import Key

REQUEST_ID = b"x-request-id"
# Requests, and the bytes of one: what is longer is parsed each time. A known one takes 1.5 KB, and at worst 9 KB.
MOST = 2048
MOST_BYTES = 2048
# The last format that is the same for equal values, however they came to be.
_MARSHAL = 2


@dataclass(frozen=True, slots=True)
class Known:
    """The request's question, and what its access line and the download count need."""

    key: Key
    status: int
    user_agent: str
    line: Line


class Recognition:
    def __init__(self) -> None:
        self._known: dict[bytes, Known] = {}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, scope: Any) -> tuple[Known | None, str]:
        """The known request, and the id that this one asks for."""
        data, asked = _apart(scope)
        return (self._known.get(hashlib.sha256(data).digest()), asked) if data else (None, asked)

    def add(self, scope: Any, known: Known) -> None:
        """Keep it, and if there are too many, let the one go that came first."""
        data, _ = _apart(scope)
        if not data or len(data) > MOST_BYTES:
            return
        if len(self._known) >= MOST:
            self._known.pop(next(iter(self._known)))
        self._known[hashlib.sha256(data).digest()] = known


def _apart(scope: Any) -> tuple[bytes, str]:
    """Everything that counts, nothing if the id comes twice; and the id."""
    headers = scope["headers"]
    asked = dict(headers).get(REQUEST_ID)
    if asked is not None:
        others = [header for header in headers if header[0] != REQUEST_ID]
        if len(headers) - len(others) > 1:
            return b"", ""
        headers = others
    peer = (scope.get("client") or ("",))[0]
    target = (scope["method"], scope["scheme"], scope["path"], scope.get("raw_path"), scope["query_string"])
    return marshal.dumps((target, peer, headers), _MARSHAL), (asked or b"").decode("latin-1")
