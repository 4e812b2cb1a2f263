"""Both syntaxes are read into blocks with the few attributes that pages show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from apps.modules.inspection.schema import MAX_DIAGNOSTICS

NOT_LITERAL: Final[Any] = object()  # no JSON value, as None is one
UNKNOWN = "(unknown)"
SENSITIVE = "(sensitive)"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem and its place; lines and columns count from 1."""

    file: str
    line: int
    column: int
    message: str

    def as_dict(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "column": self.column, "message": self.message}


@dataclass(frozen=True, slots=True)
class Value:
    """An attribute's value. Unless it is `known`, only its line means anything."""

    line: int
    source: str = ""
    known: bool = True
    literal: Any = NOT_LITERAL
    references: tuple[str, ...] = ()  # `aws.replica`, or each of `[aws, aws.replica]`
    entries: Mapping[str, "Value"] | None = None  # of an object, where the schema asks for them

    @property
    def text(self) -> str:
        """For people: the decoded string, or else the source."""
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

    def diagnostic(self, message: str) -> Diagnostic:
        return Diagnostic(self.file, self.line, self.column, message)


@dataclass(slots=True)
class Reading:
    """The blocks of one file.

    `is_complete` is false where a block may be missing. `fault` says why no client reads the file, if that is sure.
    """

    blocks: list[Block] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    is_complete: bool = True
    fault: Diagnostic | None = None

    def warn(self, diagnostic: Diagnostic) -> None:
        """A file may have half a million problems; a page shows a hundred."""
        if len(self.diagnostics) <= MAX_DIAGNOSTICS:
            self.diagnostics.append(diagnostic)
