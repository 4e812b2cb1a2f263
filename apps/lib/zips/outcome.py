"""What a check of an archive comes to: a listing, or a refusal with every reason that was cheap to find."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.lib.errors import Invalid, Reason

MOST_REASONS = 20
_LONGEST_NAME_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """One member. `name` ends in `/` for a folder, `size` is unpacked bytes, `mode` permission bits (0: unknown)."""

    name: str
    size: int
    mode: int
    is_dir: bool


@dataclass(frozen=True, slots=True)
class Listing:
    """An archive that keeps every rule.

    `digest` and `size` are of the whole file, as it was read here; `texts` holds the wanted members by their own
    names, each cut at the text limit; `pid` is the process that read it.
    """

    digest: str
    size: int
    entries: tuple[Entry, ...]
    texts: dict[str, bytes]
    pid: int


class Refusal(Invalid):
    """The archive breaks a rule. `reasons` is never empty and holds at most twenty."""

    def __init__(self, reasons: Sequence[Reason]) -> None:
        self.reasons = list(reasons[:MOST_REASONS])
        super().__init__(" ".join(reason.sentence for reason in self.reasons))


def refuse(code: str, found: str, expected: str, mend: str = "Pack it again.", file: str = "") -> Refusal:
    """A refusal for one reason, to be raised."""
    return Refusal([Reason(code, found, expected, mend, shown(file))])


def shown(name: str) -> str:
    """A member's name fit for one line of text: control characters escaped, the middle of a long one cut out."""
    # repr, not the unicode_escape codec: that one is imported on first use, which the confined child cannot do.
    text = "".join(mark if mark.isprintable() else repr(mark)[1:-1] for mark in name)
    if len(text) <= _LONGEST_NAME_SHOWN:
        return text
    half = _LONGEST_NAME_SHOWN // 2
    return f"{text[:half]}…{text[-half:]}"
