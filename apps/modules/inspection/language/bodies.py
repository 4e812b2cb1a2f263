"""What the judge sees of a file, whichever syntax it is in."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Traversal = tuple[str, ...]  # names of `aws.replica`; an index with a constant key is "[]"


class Expression(Protocol):
    @property
    def at(self) -> int:
        """Where it begins, as an offset."""

    @property
    def source(self) -> str: ...

    @property
    def is_constant(self) -> bool:
        """False only if it certainly refers to something, or calls a function."""

    @property
    def is_quoted(self) -> bool:
        """A string in quotes, in the native syntax."""

    @property
    def value(self) -> Any:
        """The literal, or NOT_LITERAL."""

    @property
    def traversal(self) -> Traversal | None:
        """A reference without anything that must be evaluated."""

    @property
    def call(self) -> tuple[str, Sequence["Expression"]] | None:
        """A function's name and its arguments, if it is a call."""

    @property
    def elements(self) -> Sequence["Expression"] | None:
        """Of a list that is written out; None for anything else."""

    @property
    def pairs(self) -> Sequence[tuple["Expression", "Expression"]] | None:
        """Of an object that is written out; None for anything else."""

    def reads(self) -> bool:
        """False only if it certainly refers to nothing."""

    def as_type(self) -> "Expression":
        """Itself, or in JSON the expression that its text holds."""


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    at: int
    expression: Expression


@dataclass(frozen=True, slots=True)
class Inner:
    """A block. A label that is None cannot be read."""

    kind: str
    labels: tuple[str | None, ...]
    at: int
    body: "Body"


@dataclass(slots=True)
class Content:
    arguments: list[Argument] = field(default_factory=list)
    blocks: list[Inner] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)
    stated: list[Any] = field(default_factory=list)  # the type that the arguments state, once it was read


class Body(Protocol):
    def content(self, labels: dict[str, int], *, only_arguments: bool) -> Content:
        """`labels`: the kinds of blocks that are expected, with the number of labels; JSON needs it to tell them from
        arguments. `only_arguments`: there are none, whatever the names.
        """
