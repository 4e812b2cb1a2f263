"""How many rows there are, without counting millions of them."""

from typing import Any, cast

from django.core.paginator import Paginator
from django.db.models import Count, IntegerField, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.functional import cached_property

MAX_COUNTED_ROWS = 10_000


class Many(int):
    """`MAX_COUNTED_ROWS`, and more that nobody counted; a page says so."""

    def __str__(self) -> str:
        return f"{int(self):,}+"


def bounded_count(rows: QuerySet[Any]) -> int:
    """Count up to `MAX_COUNTED_ROWS` in one query that reads no further; beyond that the answer is `Many`."""
    seen = rows.order_by().values("pk")[: MAX_COUNTED_ROWS + 1].count()
    return seen if seen <= MAX_COUNTED_ROWS else Many(MAX_COUNTED_ROWS)


def count_of(rows: QuerySet[Any], by: str) -> Coalesce:
    """How many `rows` refer `by` a key to the outer row, as a column. It stays out of the list's own count."""
    counted = rows.order_by().values(by).annotate(rows_found=Count("pk")).values("rows_found")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


class BoundedPaginator(Paginator[Any]):
    """Leads to the first 10,000 rows: whoever looks for others searches, filters, or exports them."""

    @cached_property
    def count(self) -> int:
        return bounded_count(cast("QuerySet[Any]", self.object_list))  # the admin pages nothing else
