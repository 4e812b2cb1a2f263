"""What an endpoint takes and answers, written beside it. `make schema` turns it into static/api/openapi.json."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rest_framework.serializers import Serializer

Method = TypeVar("Method", bound=Callable[..., Any])
Body = type[Serializer[Any]]
Shape = Body | tuple[Body, ...]  # one of several


@dataclass(frozen=True, slots=True)
class Operation:
    """`takes` is a JSON body, or the media type of a raw one. `answers` has a shape, or None for no body, by status.

    `query` and `headers` describe the parameters, `errors` the ones beside the usual. `choices` has the values of
    parameters with few. `files` are the media types in which 200 comes as a file too. `scope` is the least that a token
    needs, None where no token is read; `public` calls are answered without one as well. After a lost answer an
    `idempotent` call can be sent again: the outcome and the answer are the same, or 200 for 201 and 202, or 404 for
    what a DELETE removed. `again` says what happens then.
    """

    summary: str
    takes: Body | str | None = None
    answers: Mapping[int, Shape | None] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[int, str] = field(default_factory=dict)
    again: str = ""
    scope: str | None = "read"
    public: bool = False
    idempotent: bool = False
    choices: Mapping[str, Collection[str]] = field(default_factory=dict)
    files: Collection[str] = ()


def operation(summary: str, **described: Any) -> Callable[[Method], Method]:
    """The decorator of a method of a view: the fields of `Operation`."""

    def declared(method: Method) -> Method:
        method.operation = Operation(summary, **described)  # type: ignore[attr-defined]  # read by ApiView.operation_of
        return method

    return declared
