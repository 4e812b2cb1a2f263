"""Row counts that stop at a limit, so that no page counts millions of rows."""

from typing import Any, cast

from django.core.paginator import Paginator
from django.db.models import Count, IntegerField, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.functional import cached_property

MAX_COUNTED_ROWS = 10_000


class Many(int):
    """`MAX_COUNTED_ROWS` or more; prints as "10,000+"."""

    def __str__(self) -> str:
        return f"{int(self):,}+"


def bounded_count(rows: QuerySet[Any]) -> int:
    """Count at most `MAX_COUNTED_ROWS` rows in one query; return `Many` if there are more."""
    seen = rows.order_by().values("pk")[: MAX_COUNTED_ROWS + 1].count()
    return seen if seen <= MAX_COUNTED_ROWS else Many(MAX_COUNTED_ROWS)


def count_of(rows: QuerySet[Any], by: str) -> Coalesce:
    """Return a column with the number of `rows` whose key `by` is the outer row. The list's own count ignores it."""
    counted = rows.order_by().values(by).annotate(rows_found=Count("pk")).values("rows_found")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


class BoundedPaginator(Paginator[Any]):
    """Reaches the first 10,000 rows; search, filters and the export reach the rest."""

    @cached_property
    def count(self) -> int:
        return bounded_count(cast("QuerySet[Any]", self.object_list))  # the admin pages nothing else
