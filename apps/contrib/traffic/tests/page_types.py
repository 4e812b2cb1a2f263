"""The page types of traffic (see tests/browser/page_types.py)."""

from typing import Any

NO_PAGES: set[str] = set()
PAGES: dict[str, list[tuple[dict[str, Any], str]]] = {
    "traffic": [({}, ""), ({}, "?by=token&measure=bytes"), ({}, "?month=2025-01")]
}
