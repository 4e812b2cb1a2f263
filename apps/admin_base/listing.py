"""Lists of the admin that stay quick with a million rows: how they are searched, sorted and fetched."""

from functools import cached_property
from typing import Any, cast

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.contrib.admin.views.main import ORDER_VAR, ChangeList
from django.db import connection
from django.db.models import CharField, F, Lookup, Model, Q, QuerySet
from django.db.models.functions import Coalesce
from django.db.models.lookups import StartsWith
from django.db.models.sql.where import WhereNode
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst

from apps.admin_base.counting import Many, bounded_count, one_of, remember_count

# So many rows are sorted whatever the order is; more only by a column with an index.
MAX_SORTED_ROWS = 20_000
_LAST = chr(0x10FFFF)


@CharField.register_lookup
class Begins(Lookup[Any]):
    """A lookup like `startswith`, but served by an index on every database, and never blind to case."""

    lookup_name = "begins"

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        """Ask with LIKE, for which PostgreSQL needs an index with `varchar_pattern_ops`."""
        return StartsWith(self.lhs, self.rhs).as_sql(compiler, connection)

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        """Ask for a range: LIKE ignores case there, so it reads the whole table."""
        column, values = self.process_lhs(compiler, connection)
        word = str(self.rhs)
        return f"({column} >= %s AND {column} < %s)", [*values, word, *values, word + _LAST]


def searched(rows: QuerySet[Any], condition: Q) -> QuerySet[Any]:
    """Filter; each alternative of an OR finds its rows by its own index: none serves an OR over several tables.

    PostgreSQL joins what several indexes of one table find by itself. Of a table with partitions it would rather read
    every row than look for each key in each of them.
    """
    if condition.connector != Q.OR or condition.negated:
        return rows.filter(condition)
    if connection.vendor == "postgresql" and _is_of_one_table(rows.model, condition):
        return rows.filter(condition)
    every = rows.model._default_manager.order_by()  # noqa: SLF001  # Django's public name for it
    keys = [every.filter(Q(one)).values("pk") for one in condition.children]
    union = keys[0].union(*keys[1:])
    found = rows.filter(one_of(union))
    if not rows.query.where:
        found.found_keys = union  # type: ignore[attr-defined]  # ours, on this one queryset: all that it is
        found.walked = rows.filter(condition)  # type: ignore[attr-defined]  # the same
    return found


def _is_of_one_table(model: type[Model], condition: Q) -> bool:
    """Return whether the condition compares columns of this table with values, and nothing else."""
    columns = {"pk", *(column.attname for column in model._meta.concrete_fields)}  # noqa: SLF001  # Django's public name
    return all(
        isinstance(part, tuple) and part[0].split("__")[0] in columns and not isinstance(part[1], QuerySet)
        if not isinstance(part, Q)
        else _is_of_one_table(model, part)
        for part in condition.children
    )


def _is_single(rows: QuerySet[Any]) -> bool:
    """Return whether no table that is joined can have several rows for one of these."""
    joined: list[Any] = [getattr(one, "join_field", None) for one in rows.query.alias_map.values()]
    return not any(field is not None and (field.one_to_many or field.many_to_many) for field in joined)


class _ByOrder(WhereNode):
    """A condition that most rows meet. By its index SQLite would fetch them all and sort them, to show fifty."""

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        sql, values = super().as_sql(compiler, connection)
        return f"CASE WHEN {sql} THEN TRUE ELSE FALSE END", values


class LarderChangeList(ChangeList):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.way_back, self.preserved_filters = self.preserved_filters, ""
        if not self.is_popup:
            self.title = capfirst(str(self.opts.verbose_name_plural))

    def get_results(self, request: HttpRequest) -> None:
        """Find the keys of a page first, then its rows: sorting and joining whole rows takes many times as long."""
        self._sort(request)
        super().get_results(request)
        keys = list(self.result_list.values_list("pk", flat=True)) if self.result_count else []
        rows = self.apply_select_related(self.root_queryset.filter(pk__in=keys))
        found = {row.pk: row for row in rows.order_by()}
        self.result_list = cast("Any", [found[key] for key in keys if key in found])

    @cached_property
    def _row_urls(self) -> tuple[str, str]:
        """Return what is before and after the key in a row's address: Django resolves each address twice."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
        before, _, after = reverse(name, args=["key"]).rpartition("key")
        return before, f"{after}?{self.way_back}" if self.way_back else after

    def url_for_result(self, result: Any) -> str:
        """The row's page, with the way back."""
        before, after = self._row_urls
        return f"{before}{quote(getattr(result, self.pk_attname))}{after}"

    def _sort(self, request: HttpRequest) -> None:
        rows = self.queryset
        order = [_named(str(part)) for part in rows.query.order_by]
        listed = cast("Any", self.model_admin)
        is_indexed = order[0][0] in {"pk", *listed.indexed_orders, _named(listed.ordering[0])[0]}
        if is_indexed and not rows.query.where:
            return
        count = bounded_count(getattr(rows, "found_keys", rows), MAX_SORTED_ROWS)
        if not isinstance(count, Many):
            # An expression, which no index has: a planner that hopes to meet few rows early in an index's order may
            # walk through millions.
            columns = [(Coalesce(name, name) if name != "pk" else F(name), down) for name, down in order]
            self.queryset = rows.order_by(*(column.desc() if down else column.asc() for column, down in columns))
        elif not is_indexed:
            words = f"More than {MAX_SORTED_ROWS:,} rows are not sorted by this column: filter or search first."
            messages.info(request, words)
            self.params = {name: value for name, value in self.params.items() if name != ORDER_VAR}
            self.queryset = rows.order_by(*self.get_ordering(request, rows.order_by()))
        walked = getattr(rows, "walked", None)
        if isinstance(count, Many) and connection.vendor == "postgresql" and walked is not None and _is_single(walked):
            # It would read the whole table to find which of its rows are among so many keys.
            self.queryset = walked.order_by(*self.queryset.query.order_by)
        elif isinstance(count, Many) and rows.query.where:
            self.queryset = self.queryset.all()
            self.queryset.query.where = _ByOrder([self.queryset.query.where])
        remember_count(self.queryset, count)


def _named(part: str) -> tuple[str, bool]:
    """The column of a part of an order, and whether it descends."""
    return part.removeprefix("-"), part.startswith("-")
