"""JSON that every reader understands in the same way: each key once, no NaN, and not nested too deeply for others."""

import json
from collections import Counter
from typing import Any

DEEPEST = 100


class Malformed(ValueError):
    """The document is not strict JSON. `str()` continues a sentence that begins with the document's name: "is not valid
    JSON: …".
    """


def loads(raw: bytes) -> Any:
    """Raises Malformed."""
    try:
        found = json.loads(raw.decode(), object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise _too_deep() from None
    except Malformed:
        raise
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are both
        raise Malformed(f"is not valid JSON: {error}") from None
    _check_depth(found)
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse duplicate keys: some readers take the first and some the last."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise Malformed(f"repeats the key {twice[:100]!r} in one object")
    return fields


def _no_constant(name: str) -> None:
    raise Malformed(f"contains {name}, which is not valid JSON")


def _check_depth(found: Any) -> None:
    """Limit the nesting, so that readers with a smaller stack can parse it too."""
    level: list[Any] = [found] if isinstance(found, dict | list) else []
    for _ in range(DEEPEST):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> Malformed:
    return Malformed(f"is nested too deeply: expected at most {DEEPEST} levels")
