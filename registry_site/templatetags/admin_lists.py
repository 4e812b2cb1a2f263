"""Faster parts of an admin list: the dates above it, and its rows."""

from datetime import date, datetime, timedelta
from typing import Any

from django.contrib.admin.templatetags import admin_list
from django.contrib.admin.utils import get_fields_from_path
from django.db.models import Max, Min
from django.template import Library
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import mark_safe
from django.utils.text import capfirst

from apps.admin_base.cells import rows_of

register = Library()
_STARTS = {"year": {"month": 1, "day": 1}, "month": {"day": 1}, "day": {}}


class _Days:
    """Answers what Django asks a list's queryset, with every day between the first and the last row."""

    def __init__(self, changelist: Any) -> None:
        self._params, self._path = changelist.params, changelist.date_hierarchy
        field = get_fields_from_path(changelist.model, self._path)[-1]
        rows = field.model._default_manager.order_by()  # noqa: SLF001  # Django's public name for it
        # One query for each end: with both in one, SQLite reads the whole index.
        self._first = rows.aggregate(end=Min(field.name))["end"]
        self._last = rows.aggregate(end=Max(field.name))["end"]

    def aggregate(self, **_: Any) -> dict[str, Any]:
        return {"first": self._first, "last": self._last}

    def datetimes(self, _path: str, kind: str) -> list[date]:
        if self._first is None:
            return []
        first, last = _day_of(self._first), _day_of(self._last)
        days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
        for part in ("year", "month"):
            chosen = self._params.get(f"{self._path}__{part}")
            days = [day for day in days if chosen is None or str(chosen) == str(getattr(day, part))]
        return list(dict.fromkeys(day.replace(**_STARTS[kind]) for day in days))

    dates = datetimes


class _Dated:
    """A change list whose queryset knows days only."""

    def __init__(self, changelist: Any) -> None:
        self.model, self.params = changelist.model, changelist.params
        self.get_query_string = changelist.get_query_string
        self.date_hierarchy, self.queryset = changelist.date_hierarchy, _Days(changelist)


@register.inclusion_tag("admin/filter_drawer.html")
def filter_drawer(changelist: Any) -> dict[str, Any]:
    """Give each filter its name, its choices and the one that is chosen, in words."""
    filters = []
    for spec in changelist.filter_specs:
        choices = list(spec.choices(changelist))
        # The first choice of Django's filters is "All"; our fields for a word have one, with its value.
        chosen = [choice["display"] for choice in choices[1:] if choice["selected"]]
        words = choices[0].get("value") or ", ".join(map(str, chosen))
        filters.append({"spec": spec, "name": as_words(spec.title), "choices": choices, "chosen": words})
    return {"cl": changelist, "filters": filters}


def as_words(title: Any) -> str:
    """Return the name of a filter: "Published" for the field published_at, "Prerelease" for is_prerelease."""
    return capfirst(str(title).removeprefix("is ").removesuffix(" at"))


@register.inclusion_tag("admin/date_hierarchy.html")
def list_dates(changelist: Any) -> Any:
    """From the oldest and the newest row. Django's own read the whole table, twice."""
    dated: Any = _Dated(changelist)
    return admin_list.date_hierarchy(dated)


def _day_of(moment: date) -> date:
    return timezone.localtime(moment).date() if isinstance(moment, datetime) else moment


@register.inclusion_tag("admin/change_list_results.html")
def list_rows(changelist: Any) -> dict[str, Any]:
    """Each cell names its column, for phones."""
    headers: list[Any] = list(admin_list.result_headers(changelist))
    labels = [
        "<td" if "<input" in one["text"] else str(format_html('<td data-label="{}"', capfirst(one["text"])))
        for one in headers
    ]
    # The cells are HTML whose values were escaped.
    return {"cl": changelist, "result_headers": headers, "rows": mark_safe(rows_of(changelist, labels))}  # noqa: S308
