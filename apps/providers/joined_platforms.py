"""The platforms of a version in one column, which is five times as fast as a row for each platform."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Aggregate, Value
from django.db.models.functions import Concat


class Joined(Aggregate):
    """`linux/amd64 darwin/arm64` of the packages of a version."""

    function = "GROUP_CONCAT"
    template = "%(function)s(%(expressions)s, ' ')"

    def __init__(self) -> None:
        super().__init__(Concat("packages__os", Value("/"), "packages__arch"))

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        return self.as_sql(compiler, connection, function="STRING_AGG")


def split(named: str | None) -> Iterator[tuple[str, str]]:
    """Return what `Joined` has joined."""
    for platform in (named or "").split():
        os, _, arch = platform.partition("/")
        yield os, arch
