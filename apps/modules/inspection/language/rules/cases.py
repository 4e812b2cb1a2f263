"""The input of a rule, and its answer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from apps.lib.hcl.bodies import Argument, Content, Expression, Inner
from apps.modules.inspection.language.clients import Clients


class Place(Protocol):
    @property
    def at(self) -> int: ...

    @property
    def source(self) -> str: ...


Problem = tuple[Place, str, Clients]  # where, what is expected, who refuses


@dataclass(frozen=True, slots=True)
class Name:
    """The name of an argument or a block as the place of a problem."""

    at: int
    source: str


@dataclass(frozen=True, slots=True)
class Visited:
    """A block that is judged, and the one around it."""

    found: Inner
    content: Content
    around: "Visited | None" = None

    def outer(self, levels: int) -> "Visited | None":
        visited: Visited | None = self
        for _ in range(levels):
            visited = visited.around if visited else None
        return visited


@dataclass(frozen=True, slots=True)
class Case:
    """An argument in its block."""

    argument: Argument
    visited: Visited

    @property
    def value(self) -> Expression:
        return self.argument.expression

    @property
    def content(self) -> Content:
        return self.visited.content

    def beside(self, name: str) -> Expression | None:
        """Another argument of the same block."""
        return self.content.value(name)


Rule = Callable[[Case], Iterator[Problem]]  # of an argument
Check = Callable[[Visited], Iterator[Problem]]  # of a whole block; its problems name a place in it
