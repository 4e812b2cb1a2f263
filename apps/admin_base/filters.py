from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

# The list only suggests; any other name can be typed.
SUGGESTED = 200


class WordFilter(admin.SimpleListFilter):
    """A text field with suggestions, for columns with too many values to list.

    It uses a <datalist>: the admin's select2 autocomplete stays empty without JavaScript and takes no other names.
    """

    template = "admin/word_filter.html"
    path = ""  # ORM path that must equal the word

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
    """Filters by whether a time is set, with its own labels (Django's are "Empty" and "Not empty")."""

    path = ""
    words = ("yes", "no")

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return list(zip(("1", "0"), self.words, strict=True))

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("0", "1"):
            return queryset
        return queryset.filter(**{f"{self.path}__isnull": self.value() == "0"})
