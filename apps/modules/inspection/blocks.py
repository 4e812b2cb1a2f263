"""Blocks with the few attributes that pages show, whatever the syntax of their file, and the bounds of their cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.lib.hcl.bodies import Content
from apps.lib.hcl.files import NOT_LITERAL, Diagnostic, File, Unreadable

# Bounds on what one module may cost to read.
MAX_FILES = 4_000  # in the whole archive
MAX_FILE_BYTES = 1024 * 1024
MAX_VALUE_BYTES = 64 * 1024
MAX_DIAGNOSTICS = 100  # in one unit
MAX_FAULTS = 5  # in one unit
MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
UNKNOWN = "(unknown)"
SENSITIVE = "(sensitive)"


# Only whether they are set is read, and the tokens of for_each: their values may be as long as the file.
REPETITIONS = ("for_each", "count")
LOCAL = "local"  # each value of a `locals` block is read as a block: no page shows it, but two of a name are a fault


@dataclass(frozen=True, slots=True)
class Value:
    """An attribute's value. Unless it is `known`, only its line means anything; of for_each also the `digest` of its
    tokens, and the beginning of its `source`.
    """

    line: int
    source: str = ""
    known: bool = True
    literal: Any = NOT_LITERAL
    references: tuple[str, ...] = ()  # `aws.replica`, or each of `[aws, aws.replica]`
    entries: Mapping[str, "Value"] | None = None  # of an object, where the schema asks for them
    is_quoted: bool = False  # it is one string, or template, in quotes
    digest: str = ""

    @property
    def is_computed(self) -> bool:
        return self.known and self.literal is NOT_LITERAL

    @property
    def expression(self) -> str:
        """The `text`; a template without its quotes."""
        return self.source[1:-1] if self.is_computed and self.is_quoted else self.text

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
    `sound`: what is undamaged, for the judge of the language; `judged`: what it found.
    """

    blocks: list[Block] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    is_complete: bool = True
    fault: Diagnostic | None = None
    sound: list[tuple[File, Content]] = field(default_factory=list)
    judged: list[Any] = field(default_factory=list)

    def warn(self, diagnostic: Diagnostic) -> None:
        """A file may have half a million problems; a page shows a hundred."""
        if len(self.diagnostics) <= MAX_DIAGNOSTICS:
            self.diagnostics.append(diagnostic)


class NotText(Unreadable):
    """The file contains bytes that are no text."""
