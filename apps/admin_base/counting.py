"""Row counts that stop at a limit, so that no page counts millions of rows."""

from collections.abc import Sequence
from typing import Any, cast

from django.core.paginator import Paginator
from django.db import connection
from django.db.models import BooleanField, Count, F, Func, IntegerField, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.functional import cached_property

MAX_COUNTED_ROWS = 10_000


class Many(int):
    """`MAX_COUNTED_ROWS` or more; prints as "10,000+"."""

    def __str__(self) -> str:
        return f"{self:,}"

    def __format__(self, spec: str) -> str:
        return f"{int(self):{spec}}+"


def bounded_count(rows: QuerySet[Any], most: int | None = None) -> int:
    """Count at most `MAX_COUNTED_ROWS` rows, or `most`, in one query; return `Many` if there are more."""
    most = MAX_COUNTED_ROWS if most is None else most
    seen = rows.order_by().values("pk")[: most + 1].count()
    return seen if seen <= most else Many(most)


def remember_count(rows: QuerySet[Any], count: int) -> None:
    """Have `BoundedPaginator` take this count of the very queryset: searching several tables again costs as much."""
    if count >= MAX_COUNTED_ROWS:
        count = Many(MAX_COUNTED_ROWS)
    elif isinstance(count, Many):
        return  # its limit was a lower one
    rows.known_count = count  # type: ignore[attr-defined]  # ours, on this one queryset


def bounded_counts(*several: QuerySet[Any]) -> list[int]:
    """Count each as `bounded_count` does, all in one query."""
    if not several:
        return []
    counted = [rows.order_by().values("pk")[: MAX_COUNTED_ROWS + 1].query.sql_with_params() for rows in several]
    columns = ", ".join(f"(SELECT COUNT(*) FROM ({sql}) AS counted)" for sql, _ in counted)  # noqa: S608  # Django wrote it
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns}", [value for _, values in counted for value in values])
        found = cursor.fetchone()
    return [count if count <= MAX_COUNTED_ROWS else Many(MAX_COUNTED_ROWS) for count in found]


def bounded_sum(counts: Sequence[int]) -> int:
    """Add bounded counts; return `Many` if one of them is, or all together are as many."""
    if any(isinstance(count, Many) for count in counts) or sum(counts) > MAX_COUNTED_ROWS:
        return Many(MAX_COUNTED_ROWS)
    return sum(counts)


def count_of(rows: QuerySet[Any], by: str) -> Coalesce:
    """Return a column with the number of `rows` whose key `by` is the outer row. The list's own count ignores it."""
    counted = rows.order_by().values(by).annotate(rows_found=Count("pk")).values("rows_found")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def one_of(keys: QuerySet[Any, Any], name: str = "pk") -> Q | Func:
    """Match these keys. PostgreSQL takes an IN for many rows, and reads the whole table rather than look them up."""
    if connection.vendor != "postgresql":
        return Q(**{f"{name}__in": keys})
    from django.contrib.postgres.expressions import ArraySubquery  # needs its driver

    both = (F(name), ArraySubquery(keys))
    return Func(*both, template="(%(expressions)s))", arg_joiner=" = ANY(", output_field=BooleanField())


class BoundedPaginator(Paginator[Any]):
    """Reaches the first 10,000 rows; search, filters and the export reach the rest."""

    @cached_property
    def count(self) -> int:
        rows = cast("QuerySet[Any]", self.object_list)  # the admin pages nothing else
        known: int | None = getattr(rows, "known_count", None)
        return bounded_count(rows) if known is None else known
