"""Declarations of filters. Each returns a class, which is what Django takes in `list_filter`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from apps.admin_base.markup import filled

Filter = type[admin.SimpleListFilter]
Narrow = Callable[[QuerySet[Any]], QuerySet[Any]]

# The list only suggests; any other name can be typed.
SUGGESTED = 200


class _Words(admin.SimpleListFilter):
    template = "admin/word_filter.html"
    condition: Callable[[str], Q]
    suggestions: Callable[[], Any]

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("", "")]  # Django drops a filter that offers nothing

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        word = (self.value() or "").replace("\0", "").strip()
        return queryset.filter(self.condition(word)) if word else queryset

    def choices(self, changelist: Any) -> Any:
        others = [
            (name, value)
            for name, values in changelist.filter_params.items()
            if name != self.parameter_name
            for value in values
        ]
        if changelist.query:
            others.append(("q", changelist.query))
        yield {
            "name": self.parameter_name,
            "value": self.value() or "",
            "others": others,
            "suggestions": _options(self.suggestions()[:SUGGESTED]),
            "clear": changelist.get_query_string(remove=[self.parameter_name or ""]),
        }


def _options(names: Iterable[str]) -> SafeString:
    """Without the template, which takes as long for two hundred names as for all else around the list."""
    return SafeString("".join(filled('<option value="{}"></option>', name) for name in names))


def words(title: str, parameter: str, path: str | Callable[[str], Q], suggestions: Callable[[], Any]) -> Filter:
    """Declare a text field with suggestions, for columns with too many values to list.

    `path` is the ORM path that must equal the word, or returns the condition. It uses a <datalist>: the admin's select2
    autocomplete stays empty without JavaScript and takes no other names.
    """
    declared = {
        "title": title,
        "parameter_name": parameter,
        "condition": staticmethod(path if callable(path) else lambda word: Q(**{path: word})),
        "suggestions": staticmethod(suggestions),
    }
    return type("Words", (_Words,), declared)


class _OneOf(admin.SimpleListFilter):
    options: Mapping[str, tuple[str, Narrow]] = {}

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [(value, label) for value, (label, _) in self.options.items()]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.options.get(self.value() or "")
        return chosen[1](queryset) if chosen else queryset


def one_of(title: str, parameter: str, options: Mapping[str, tuple[str, Narrow]]) -> Filter:
    """Declare a filter with a choice of values, each with its label and what it leaves of the rows."""
    return type("OneOf", (_OneOf,), {"title": title, "parameter_name": parameter, "options": options})


def is_set(title: str, parameter: str, path: str, labels: tuple[str, str] = ("Yes", "No")) -> Filter:
    """Declare a filter by whether a time is set (Django's says "Empty" and "Not empty")."""
    is_null = f"{path}__isnull"
    yes, no = labels
    options: Mapping[str, tuple[str, Narrow]] = {
        "1": (yes, lambda rows: rows.filter(**{is_null: False})),
        "0": (no, lambda rows: rows.filter(**{is_null: True})),
    }
    return one_of(title, parameter, options)
