from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

# A list of suggestions, not of everything: whoever knows the name types it.
SUGGESTED = 200


class WordFilter(admin.SimpleListFilter):
    """A filter with a small text field, for columns with too many values to list.

    A native list of suggestions instead of the admin's select2 autocomplete: that one is an empty field without
    JavaScript, and this one takes any name that is typed.
    """

    template = "admin/word_filter.html"
    path = ""  # what must equal the word

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("", "")]  # Django drops a filter that offers nothing

    def suggestions(self) -> Iterable[str]:
        return ()

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        word = (self.value() or "").replace("\0", "").strip()
        return queryset.filter(**{self.path: word}) if word else queryset

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
            "suggestions": list(self.suggestions()),
            "clear": changelist.get_query_string(remove=[self.parameter_name or ""]),
        }


class SetFilter(admin.SimpleListFilter):
    """Whether a column of moments is set, in words of its own (Django's says "empty")."""

    path = ""
    words = ("yes", "no")

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return list(zip(("1", "0"), self.words, strict=True))

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("0", "1"):
            return queryset
        return queryset.filter(**{f"{self.path}__isnull": self.value() == "0"})
