"""How many checks each group made, beside those of the official suite.

The groups are those of the stand-alone suite of github.com/opencontainers/distribution-spec, main at 967efdc, in its
profile 1.1; its numbers, taken from a run in which everything passed, hold group headings too. Ours count assertions.
Written from the specification and from descriptions of that suite; no code is shared.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

OFFICIAL = {
    "sha256 blobs": 93,
    "sha512 blobs": 93,
    "image": 26,
    "image uncompressed": 26,
    "large manifest": 26,
    "index": 46,
    "nested index": 78,
    "empty index": 14,
    "artifact": 22,
    "artifact index": 34,
    "artifact without layers": 18,
    "artifacts with subject": 67,
    "index with subject": 75,
    "missing subject": 23,
    "data field": 26,
    "no layers": 18,
    "custom fields": 46,
    "non-distributable layers": 22,
    "sha512 index": 42,
    "bad digest image": 20,
    "missing manifest": 3,
    "invalid digest": 9,
}
# What the stand-alone suite has switched off in that profile, and the suite of v1.1.1: 74 specs that run.
FURTHER = {"empty repository": 0, "cancelled uploads": 0, "tag parameters": 0, "tag lists": 0, "suite of v1.1.1": 74}


@dataclass
class Checks:
    """The assertions of one test, in the name of a group."""

    group: str
    count: int = field(default=0)

    def equal(self, found: object, expected: object, what: str) -> None:
        assert found == expected, f"{self.group}: {what}: found {_short(found)}, expected {_short(expected)}"
        self.count += 1

    def among(self, found: object, expected: Any, what: str) -> None:
        assert found in expected, f"{self.group}: {what}: found {_short(found)}, expected one of {_short(expected)}"
        self.count += 1


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 600 else f"{text[:600]}… ({len(text)} characters)"


def summary(made: Counter[str]) -> list[str]:
    """One line for each group that made any, and the sum."""
    rows = [
        f"  {group:<26}{made[group]:>5}{official or '-':>8}"
        for group, official in (OFFICIAL | FURTHER).items()
        if made[group]
    ]
    if not rows:
        return []
    head = "OCI conformance: checks here and in the official suites (groups, profile 1.1)"
    return [head, *rows, f"  {'all':<26}{sum(made.values()):>5}"]
