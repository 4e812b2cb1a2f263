"""Blocks, arguments and expressions as readers see them, in the native syntax or in JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

# Names of `aws.replica`, beginning with the root. An index is KEY if its key is a string or a whole number, and ODD_KEY
# if it is another literal (`a[true]`): that one can be written, and names nothing.
Traversal = tuple[str, ...]
KEY, ODD_KEY = "[]", "[?]"
# What kind of value an expression surely has; empty if that must be evaluated.
Sort = Literal["", "string", "number", "bool", "null", "list", "object"]


class Expression(Protocol):
    @property
    def at(self) -> int:
        """The offset at which it begins."""

    @property
    def source(self) -> str:
        """Its text; in JSON what a string holds."""

    @property
    def written(self) -> str:
        """Its text without its indentation, in JSON a string's with its quotes."""

    @property
    def size(self) -> int:
        """Of its text."""

    @property
    def tokens(self) -> Sequence[str]:
        """Without blanks and comments."""

    @property
    def is_constant(self) -> bool:
        """False only if it certainly refers to something, or calls a function."""

    @property
    def is_quoted(self) -> bool:
        """A string, or template, in quotes, in the native syntax."""

    @property
    def is_json(self) -> bool: ...

    @property
    def literal(self) -> Any:
        """Its value as JSON, or NOT_LITERAL."""

    @property
    def value(self) -> Any:
        """The value of `literal`; a JSON string has one even where it would be a template."""

    @property
    def sort(self) -> Sort: ...

    @property
    def traversal(self) -> Traversal | None:
        """A reference without anything that must be evaluated; the literals true, false and null are such, too."""

    @property
    def variables(self) -> Sequence[Traversal] | None:
        """The references in it, each up to the first part that must be evaluated; None if they are not known."""

    @property
    def path(self) -> Traversal | None:
        """The `traversal`, in which an index may be evaluated: it is KEY then."""

    @property
    def call(self) -> tuple[str, Sequence["Expression"]] | None:
        """A function's name and its arguments, if it is a call."""

    @property
    def elements(self) -> Sequence["Expression"] | None:
        """Of a list that is written out; None for anything else."""

    @property
    def pairs(self) -> Sequence[tuple["Expression", "Expression"]] | None:
        """Of an object that is written out; None for anything else."""

    def as_type(self) -> "Expression":
        """Itself, or in JSON the expression that its text holds."""

    def as_reference(self) -> "Expression | None":
        """Itself, or in JSON the expression that its text holds; None if its text holds none."""


def name_of(key: Expression) -> str | None:
    """The name that a key of an object is; None if it must be evaluated."""
    words = key.traversal
    name = words[0] if words and len(words) == 1 and not key.source.startswith("(") else key.value
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    return name if isinstance(name, str) else None


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
    """`problems`: what keeps a client from decoding the body at all. `missing`: where JSON lacks an object."""

    arguments: list[Argument] = field(default_factory=list)
    blocks: list[Inner] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    stated: list[Any] = field(default_factory=list)  # the type that the arguments state, once it was read

    def value(self, name: str) -> Expression | None:
        return next((one.expression for one in self.arguments if one.name == name), None)


class Body(Protocol):
    def content(self, labels: dict[str, int], *, only_arguments: bool) -> Content:
        """`labels`: the kinds of blocks that are expected, with the number of labels; JSON needs it to tell them from
        arguments. `only_arguments`: there are none, whatever the names.
        """
