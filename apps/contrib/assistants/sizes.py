"""Answers that fit into the context of a language model."""

import json
from typing import Any

MAX_BYTES = 40_000  # about 10,000 tokens, from which on clients warn or cut
# Items of a list and characters of a text that stay, from step to step until the answer fits.
_STEPS = ((200, 4_000), (100, 1_000), (50, 400), (20, 200), (10, 100), (3, 40))
_MAX_NOTES = 20


def fitted(document: dict[str, Any]) -> str:
    """The document as JSON of at most MAX_BYTES, without empty values below its first level.

    Long lists and texts lose their ends, and `shortened` says which.
    """
    document = {name: _without_empty(value) for name, value in document.items()}
    text = _json(document)
    for items, characters in _STEPS:
        if len(text.encode()) <= MAX_BYTES:
            break
        notes: list[str] = []
        cut = _cut(document, items, characters, "", notes)
        text = _json({**cut, "shortened": notes[:_MAX_NOTES]})
    return text


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_empty(one) for name, one in value.items() if one not in (None, "", [], {})}
    return [_without_empty(one) for one in value] if isinstance(value, list) else value


def _cut(value: Any, items: int, characters: int, place: str, notes: list[str]) -> Any:
    """`notes` gets a line for each list and text that loses its end."""
    if isinstance(value, dict):
        return {name: _cut(one, items, characters, f"{place}.{name}".lstrip("."), notes) for name, one in value.items()}
    if isinstance(value, list):
        if len(value) > items:
            notes.append(f"{place}: {items} of {len(value)} entries")
        return [_cut(one, items, characters, f"{place}[{at}]", notes) for at, one in enumerate(value[:items])]
    if isinstance(value, str) and len(value) > characters:
        notes.append(f"{place}: {characters:,} of {len(value):,} characters")
        return f"{value[:characters]}…"
    return value


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
