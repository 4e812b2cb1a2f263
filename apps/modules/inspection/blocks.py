"""What both syntaxes are read into: blocks with the few attributes that are shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final


class NotLiteral:
    """The type of NOT_LITERAL, which is no JSON value (None is one)."""


NOT_LITERAL: Final = NotLiteral()
UNKNOWN = "(unknown)"
SECRET = "(sensitive)"  # noqa: S105  # what is shown instead of one


@dataclass(frozen=True, slots=True)
class Note:
    """A warning, and where to look; lines and columns count from 1."""

    file: str
    line: int
    column: int
    message: str

    def as_dict(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "column": self.column, "message": self.message}


@dataclass(frozen=True, slots=True)
class Value:
    """What an attribute is set to. Where it is not `known`, nothing else of it means anything."""

    line: int
    source: str = ""
    known: bool = True
    literal: Any = NOT_LITERAL
    references: tuple[str, ...] = ()  # `aws.replica`, or each of `[aws, aws.replica]`
    entries: Mapping[str, "Value"] | None = None  # of an object, where the schema asks for them

    @property
    def text(self) -> str:
        """For people: the string that it is, else how it is written."""
        if not self.known:
            return UNKNOWN
        if isinstance(self.literal, str):
            return self.literal.rstrip()
        return "" if self.literal is None else self.source


@dataclass(frozen=True, slots=True)
class Block:
    """One block, or several where overrides were merged into it."""

    kind: str
    labels: tuple[str, ...]
    file: str
    line: int
    column: int = 1
    attributes: Mapping[str, Value] = field(default_factory=dict)
    blocks: tuple["Block", ...] = ()

    @property
    def name(self) -> str:
        return self.labels[-1]

    def text(self, attribute: str) -> str:
        value = self.attributes.get(attribute)
        return value.text if value else ""

    def flag(self, attribute: str, *, absent: bool, unreadable: bool) -> bool:
        value = self.attributes.get(attribute)
        if value is None:
            return absent
        words: dict[Any, bool] = {True: True, False: False, "true": True, "false": False}
        if not value.known or not isinstance(value.literal, bool | str):
            return unreadable
        return words.get(value.literal, unreadable)

    def note(self, message: str) -> Note:
        return Note(self.file, self.line, self.column, message)
