"""The rows of a list as HTML, the same as Django's `admin_list.results` makes of a list that is only read.

Django finds out for each cell again what its column is, and escapes its parts by functions that look for lazy texts
first: up to half of the time of a page with fifty rows.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, time
from functools import cache
from operator import attrgetter
from typing import Any

from django.contrib.admin.utils import display_for_field, display_for_value, lookup_field
from django.core.exceptions import FieldDoesNotExist, ObjectDoesNotExist
from django.db.models import BooleanField, CharField, DateField, Field, ForeignKey, TextField, TimeField, URLField

from apps.admin_base.markup import escaped


@cache
def _icon(value: bool | None) -> str:  # noqa: FBT001
    return display_for_value(value, "", boolean=True)


def rows_of(changelist: Any, starts: Sequence[str]) -> str:
    """Return the rows. `starts`: for each column, `<td` with the attributes that the list gives it."""
    columns = list(_columns(changelist, starts))
    return "".join(f"<tr>{''.join([column.cell(row) for column in columns])}</tr>" for row in changelist.result_list)


def _columns(changelist: Any, starts: Sequence[str]) -> Iterator["_Column"]:
    links, is_first = changelist.list_display_links, True
    for name, start in zip(changelist.list_display, starts, strict=True):
        is_link = links is not None and (name in links or (is_first and not links))
        yield _Column(changelist, name, "<th" if is_link and is_first else start, is_link=is_link)
        is_first = is_first and not is_link


class _Column:
    def __init__(self, changelist: Any, name: Any, start: str, *, is_link: bool) -> None:
        self._changelist, self._start, self._is_link = changelist, start, is_link
        self._end = "</th>" if start == "<th" else "</td>"
        self._empty = changelist.model_admin.get_empty_value_display()
        self._class = "action-checkbox" if name == "action_checkbox" else f"field-{getattr(name, '__name__', name)}"
        field = _column_of(changelist.lookup_opts, name)
        self._value: Callable[[Any], Any]
        self._text: Callable[[Any], object]
        if field is None:
            self._of_function(changelist, name)
        else:
            self._of_field(field)

    def _of_field(self, field: Field[Any, Any]) -> None:
        self._value, self._is_nowrap = attrgetter(field.name), isinstance(field, DateField | TimeField | ForeignKey)
        is_plain = isinstance(field, CharField | TextField) and not field.flatchoices
        if isinstance(field, ForeignKey):
            self._text = lambda row: self._empty if row is None else row
        elif isinstance(field, BooleanField) and not field.flatchoices:
            self._text = _icon
        elif is_plain and not isinstance(field, URLField):
            self._text = lambda text: text or self._empty
        else:
            self._text = lambda value: display_for_field(value, field, self._empty, avoid_link=self._is_link)

    def _of_function(self, changelist: Any, name: Any) -> None:
        admin, found = changelist.model_admin, name
        if callable(name):
            self._value = name
        elif hasattr(admin, name) and name != "__str__":
            self._value = found = getattr(admin, name)
        else:
            self._value = lambda row: lookup_field(name, row, admin)[2]
            found = getattr(changelist.model, name, None)
        self._empty, self._is_nowrap = getattr(found, "empty_value_display", self._empty), False
        is_boolean = getattr(getattr(found, "fget", found), "boolean", False)
        self._text = _icon if is_boolean else self._text_of_value

    def _text_of_value(self, value: Any) -> object:
        return (value or self._empty) if isinstance(value, str) else display_for_value(value, self._empty)

    def cell(self, row: Any) -> str:
        try:
            value = self._value(row)
            if isinstance(value, str) and not value.strip():
                value = ""
            text = escaped(self._text(value))
            is_nowrap = self._is_nowrap or isinstance(value, date | time)
        except ObjectDoesNotExist:
            text, is_nowrap = escaped(self._empty), False
        if self._is_link:
            text = f'<a href="{escaped(self._changelist.url_for_result(row))}"{self._opener(row)}>{text}</a>'
        return f'{self._start} class="{self._class}{" nowrap" if is_nowrap else ""}">{text}{self._end}'

    def _opener(self, row: Any) -> str:
        """Return what a list in a window of its own, to choose from, gives back to the page that opened it."""
        if not self._changelist.is_popup:
            return ""
        key = row.serializable_value(str(self._changelist.to_field or self._changelist.lookup_opts.pk.attname))
        return f' data-popup-opener="{escaped(key)}"'


def _column_of(opts: Any, name: Any) -> Field[Any, Any] | None:
    """Return the column of the model; None if a function makes the value, and for a key that the database makes."""
    try:
        field = opts.get_field(name)
    except FieldDoesNotExist:
        return None
    return field if field.concrete and not field.auto_created and field.name == name else None
