"""Spans of the work that a request or a task is made of; registry_site/monitoring/tracing.py sends them.

Off in every process that has not started to trace: then a span is an object that does nothing, the same one each time.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

Value = str | int


class Tracer(Protocol):
    def span(self, name: str, attributes: dict[str, Value]) -> AbstractContextManager[None]: ...

    def note(self, attributes: dict[str, Value]) -> None: ...


NOTHING: AbstractContextManager[None] = nullcontext()
tracer: Tracer | None = None


def span(name: str, **attributes: Value) -> AbstractContextManager[None]:
    """Time a part of the current request or task; nothing outside of one. No attribute names what people own."""
    return NOTHING if tracer is None else tracer.span(name, _named(attributes))


def note(**attributes: Value) -> None:
    """Say more of the current request, task or part."""
    if tracer is not None:
        tracer.note(_named(attributes))


def _named(attributes: dict[str, Value]) -> dict[str, Value]:
    return {f"larder.{name}": value for name, value in attributes.items()}
