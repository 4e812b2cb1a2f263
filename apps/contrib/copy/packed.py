"""JSON in a column: what an address has is a long list of digests."""

import json
import zlib
from typing import Any


def pack(document: Any) -> bytes:
    return zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 1) if document else b""


def unpacked(column: bytes | memoryview) -> Any:
    """Return the document; an empty one for an empty column."""
    return json.loads(zlib.decompress(column)) if column else {}
