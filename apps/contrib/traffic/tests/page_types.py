"""The page types of traffic (see tests/browser/page_types.py)."""

PAGES = {"traffic": [({}, ""), ({}, "?by=token&measure=bytes"), ({}, "?month=2025-01")]}
