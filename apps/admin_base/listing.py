"""Lists of the admin that stay quick with a million rows: how they are searched, sorted and fetched."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.admin.views.main import ORDER_VAR, ChangeList
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from apps.admin_base.counting import Many, bounded_count, remember_count

# So many rows are sorted whatever the order is; more only by a column with an index.
MAX_SORTED_ROWS = 20_000


def searched(rows: QuerySet[Any], condition: Q) -> QuerySet[Any]:
    """Filter; each alternative of an OR finds its rows by its own index: none serves an OR over several tables."""
    if condition.connector != Q.OR or condition.negated:
        return rows.filter(condition)
    every = rows.model._default_manager.order_by()  # noqa: SLF001  # Django's public name for it
    keys = [every.filter(Q(one)).values("pk") for one in condition.children]
    return rows.filter(pk__in=keys[0].union(*keys[1:]))


class LarderChangeList(ChangeList):
    def get_results(self, request: HttpRequest) -> None:
        """Find the keys of a page first, then its rows: sorting and joining whole rows takes many times as long."""
        self._sort(request)
        super().get_results(request)
        keys = list(self.result_list.values_list("pk", flat=True)) if self.result_count else []
        rows = self.apply_select_related(self.root_queryset.filter(pk__in=keys))
        found = {row.pk: row for row in rows.order_by()}
        self.result_list = cast("Any", [found[key] for key in keys if key in found])

    def _sort(self, request: HttpRequest) -> None:
        rows = self.queryset
        order = [_named(str(part)) for part in rows.query.order_by]
        listed = cast("Any", self.model_admin)
        is_indexed = order[0][0] in {"pk", *listed.indexed_orders, _named(listed.ordering[0])[0]}
        if is_indexed and not rows.query.where:
            return
        count = bounded_count(rows, MAX_SORTED_ROWS)
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
        remember_count(self.queryset, count)


def _named(part: str) -> tuple[str, bool]:
    """The column of a part of an order, and whether it descends."""
    return part.removeprefix("-"), part.startswith("-")
