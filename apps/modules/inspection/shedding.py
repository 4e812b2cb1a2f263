"""A document that is longer than a page, or a database row, should be: what is given up first, and what at last.

Where a unit declares too much it loses the values of its defaults, then types, then descriptions, and only then
entries, from the end of its longest list. Each time it is the longest unit that gives something up.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from apps.modules.inspection.blocks import SECRET, UNKNOWN, Note
from apps.modules.inspection.caps import MOST_DOCUMENT_BYTES, MOST_NOTES

Document = dict[str, Any]
LISTS = ("required_version", "variables", "outputs", "resources", "providers", "calls")
_KEPT = 0.5  # of the longest list, each time
_DEPRECATED = 100  # characters


def within_bounds(document: Document) -> Document:
    """The same document, with less in its longest units where all of them together are too long."""
    shrinking = [_Shrinking(unit) for unit in document["units"]]
    total = sum(one.size for one in shrinking)
    while total > MOST_DOCUMENT_BYTES:
        longest = max(shrinking, key=lambda one: one.size)
        total -= longest.size
        longest.shrink()
        total += longest.size
        if longest.is_empty:
            shrinking.remove(longest)
    return document


@dataclass(slots=True)
class _Shrinking:
    unit: Document
    first_size: int = 0
    size: int = 0
    given_up: list[str] = field(default_factory=list)
    dropped: int = 0
    is_empty: bool = False
    warnings: list[Document] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.warnings = self.unit["warnings"]
        self.measure()
        self.first_size = self.size

    def measure(self) -> None:
        self.size = len(json.dumps(self.unit, ensure_ascii=False).encode("utf-8"))

    def shrink(self) -> None:
        words, shed = _STEPS[len(self.given_up)] if len(self.given_up) < len(_STEPS) else ("", None)
        if shed:
            shed(self.unit)
            self.given_up.append(words)
        elif not self.drop():
            self.is_empty = True
            self.warnings = []
        self.unit["warnings"] = [self.note().as_dict(), *self.warnings][:MOST_NOTES]
        self.measure()

    def drop(self) -> bool:
        """Cut the longest list. What is sensitive stays as long as it may: pages that show files ask for it."""
        name = max(LISTS, key=lambda name: len(self.unit[name]))
        rows = self.unit[name]
        if not rows:
            return False
        order = sorted(range(len(rows)), key=lambda at: not rows[at].get("sensitive"))
        kept = sorted(order[: int(len(rows) * _KEPT)])
        self.dropped += len(rows) - len(kept)
        self.unit[name] = [rows[at] for at in kept]
        return True

    def note(self) -> Note:
        place = self.unit["path"] or "."
        if self.is_empty:
            return Note(place, 1, 1, f"not shown: what this folder declares is {self.first_size} bytes long")
        left_out = ", ".join(self.given_up)
        if self.dropped:
            kept = sum(len(self.unit[name]) for name in LISTS)
            left_out += f", and {self.dropped} of {self.dropped + kept} entries"
        return Note(
            place, 1, 1, f"not all is shown: this folder declares {self.first_size} bytes. Left out are {left_out}"
        )


def _shed_values(unit: Document) -> None:
    for row in unit["variables"]:
        row.pop("value", None)
        if row["default"] not in (None, SECRET):
            row["default"] = UNKNOWN


def _shed_types(unit: Document) -> None:
    for row in unit["variables"]:
        row["type"] = UNKNOWN if row["type"] else ""
        row["validations"] = []


def _shed_descriptions(unit: Document) -> None:
    for row in (*unit["variables"], *unit["outputs"]):
        row["description"] = ""
        row["deprecated"] = row["deprecated"][:_DEPRECATED]


_STEPS = (
    ("defaults", _shed_values),
    ("types and rules", _shed_types),
    ("descriptions", _shed_descriptions),
)
