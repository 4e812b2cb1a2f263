"""Query sets that Django writes as SQL once: writing takes most of the processor time of a small protocol read."""

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from django.db import connections
from django.db.models import Expression, Field, QuerySet

R = TypeVar("R")
_DATABASE = "default"


class Slot(Expression):
    """The place of a value in a `CompiledQuery`, in the form that this field has in the database."""

    allowed_default = False

    def __init__(self, name: str, field: Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:  # noqa: ARG002
        return "%s", (self,)

    def get_group_by_cols(self) -> list[Any]:
        return []


class CompiledQuery(Generic[R]):
    """The rows of the query set that `build` returns, each time with other values in its slots.

    The query set must be the same each time, and nothing but slots may differ between two executions: times, settings
    and lists of values need a slot or a query set of their own.
    """

    def __init__(self, build: Callable[[], QuerySet[Any, R]]) -> None:
        self._build = build
        self._written: tuple[Any, Any, str, tuple[Any, ...]] | None = None

    def __call__(self, **values: object) -> list[R]:
        """Raises KeyError if a slot has no value."""
        if self._written is None:
            self._written = self._write()
        rows, written, sql, parameters = self._written
        connection = connections[_DATABASE]
        filled = tuple(
            one.output_field.get_db_prep_value(values[one.name], connection) if isinstance(one, Slot) else one
            for one in parameters
        )
        # What Django's own iterables of rows ask of a compiler, of a query and of a query set.
        compiler = copy.copy(written)
        compiler.connection = connection
        compiler.as_sql = lambda *_, **__: (sql, filled)
        query = copy.copy(rows.query)
        query.get_compiler = lambda *_, **__: compiler
        asked = SimpleNamespace(
            query=query, db=_DATABASE, _fields=rows._fields, _known_related_objects={}, model=rows.model
        )
        return list(rows._iterable_class(asked))  # noqa: SLF001  # tests/jobs/test_compiled_queries.py compares the rows

    def _write(self) -> tuple[Any, Any, str, tuple[Any, ...]]:
        rows: Any = self._build()
        compiler = rows.query.get_compiler(using=_DATABASE)
        sql, parameters = compiler.as_sql()
        return rows, compiler, sql, tuple(parameters)
