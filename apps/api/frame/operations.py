"""What an endpoint takes and answers, written beside it. `make schema` turns it into static/api/openapi.json."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rest_framework.serializers import Serializer

Method = TypeVar("Method", bound=Callable[..., Any])
Body = type[Serializer[Any]]


@dataclass(frozen=True, slots=True)
class Operation:
    """`takes` is a JSON body, or the media type of a raw one. `answers` has a shape, or None for no body, by status.

    `query` describes the parameters. `again` says what a repeated call does.
    """

    summary: str
    takes: Body | str | None = None
    answers: Mapping[int, Body | None] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    again: str = ""


def operation(
    summary: str,
    *,
    takes: Body | str | None = None,
    answers: Mapping[int, Body | None],
    query: Mapping[str, str] | None = None,
    again: str = "",
) -> Callable[[Method], Method]:
    def noted(method: Method) -> Method:
        method.operation = Operation(summary, takes, answers, query or {}, again)  # type: ignore[attr-defined]  # read by tests.openapi
        return method

    return noted
