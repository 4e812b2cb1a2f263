"""The frames that a sandboxed child writes to its standard output: pieces of output, then one document."""

import json
import os
from typing import Any

OUTPUT, DOCUMENT = b"O", b"D"
LENGTH_BYTES = 4
HEADER_BYTES = 1 + LENGTH_BYTES
MAX_OUTPUT_BYTES = 1024 * 1024
OUT_OF_MEMORY = 75  # the child's exit code if it could not even write a document

_STDOUT = 1


def emit(chunk: bytes) -> None:
    """Called by a program: sends one piece of output (at most a mebibyte) to the parent, and waits while it is busy."""
    if chunk:
        _write(OUTPUT, chunk)


def answer(fields: dict[str, Any]) -> None:
    """The last frame: the fields as JSON."""
    _write(DOCUMENT, json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))


def _write(kind: bytes, payload: bytes) -> None:
    for data in (kind + len(payload).to_bytes(LENGTH_BYTES, "big"), payload):
        view = memoryview(data)
        while view:
            view = view[os.write(_STDOUT, view) :]
