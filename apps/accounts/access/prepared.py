"""Questions that every request asks: their SQL is made once. Django needs ten times as long to write such a query down
as the database needs to answer it.
"""

import copy
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from django.db import connections
from django.db.models import QuerySet
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")
# Nobody asks for these: by them a named value is found again among the parameters.
_STRANGE_NUMBER = 2**62
_STRANGE_TEXT = "\N{REPLACEMENT CHARACTER}value-"
Value = str | int | bytes
Kind = type[str] | type[int] | type[bytes]


class Prepared(Generic[Row]):
    """A queryset that is compiled for whoever asks first; those after it only bring other values.

    `make` is called once, with a stand-in for each value that is named in `kinds`, and must not look at them. A value
    is text, bytes or an id, never None, which would be other SQL. What else the queryset is filtered by stays as it is.
    """

    def __init__(self, make: Callable[..., QuerySet[Any, Row]], **kinds: Kind) -> None:
        self._make = make
        self._kinds = kinds
        self._plan: _Plan | None = None

    def rows(self, **values: Value) -> list[Row]:
        if self._plan is None:
            self._plan = _Plan(self._make, self._kinds)  # two that come at once make the same
        return self._plan.rows(values)

    def first(self, **values: Value) -> Row | None:
        """Of a queryset that is ordered, or finds one at most: neither order nor limit is added here."""
        return next(iter(self.rows(**values)), None)


class _Plan:
    def __init__(self, make: Callable[..., QuerySet[Any, Any]], kinds: dict[str, Kind]) -> None:
        stand_ins = {name: _stand_in(kind, place) for place, (name, kind) in enumerate(kinds.items())}
        self.queryset = make(**stand_ins)
        self.compiler = self.queryset.query.get_compiler(using=self.queryset.db)
        self.sql, parameters = self.compiler.as_sql()
        names: dict[Value | None, str] = {stand_in: name for name, stand_in in stand_ins.items()}
        # A pair is a value to be filled in (its name), or one that never changes.
        self.parameters = [(names.get(_unwrapped(one)), one) for one in parameters]
        found = {name for name, _ in self.parameters if name}
        if found != kinds.keys():
            raise ValueError(f"not in the SQL as they are: {sorted(kinds.keys() - found)}")

    def rows(self, values: dict[str, Value]) -> list[Any]:
        compiler = copy.copy(self.compiler)
        compiler.connection = connections[self.queryset.db]  # each thread has its own
        wrapped: Any = compiler.connection.Database.Binary
        given = {name: wrapped(value) if isinstance(value, bytes) else value for name, value in values.items()}
        parameters = tuple(given[name] if name else constant for name, constant in self.parameters)
        compiler.as_sql = lambda *_, **__: (self.sql, parameters)
        make_rows: Any = self.queryset._iterable_class  # noqa: SLF001
        return list(make_rows(_Filled(self.queryset, compiler)))


def _stand_in(kind: Kind, place: int) -> Value:
    if kind is int:
        return _STRANGE_NUMBER + place
    text = f"{_STRANGE_TEXT}{place}"
    return text.encode() if kind is bytes else text


def _unwrapped(parameter: Any) -> Value | None:
    """Databases take bytes in a wrapper of their own."""
    bare = getattr(parameter, "obj", parameter)
    return bare if isinstance(bare, str | int | bytes) else None


class _Filled:
    """What Django's own makers of rows want to know of a queryset: all as it was, but for the compiler."""

    def __init__(self, queryset: QuerySet[Any, Any], compiler: SQLCompiler) -> None:
        self._queryset = queryset
        self.query = _FilledQuery(queryset.query, compiler)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queryset, name)


class _FilledQuery:
    def __init__(self, query: Query, compiler: SQLCompiler) -> None:
        self._query = query
        self._compiler = compiler

    def get_compiler(self, *_: object, **__: object) -> SQLCompiler:
        return self._compiler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._query, name)
