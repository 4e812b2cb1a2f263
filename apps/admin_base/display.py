"""Cells of lists. Times and sizes look as in the portal.

A list has hundreds of them, and rendering a template for each took a third of a page's time. So these are the portal's
filters without its templates.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any

from django.contrib import admin
from django.db import models
from django.template import Engine
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from apps.admin_base.markup import filled

SIZES = frozenset({"size", "uploaded_size", "quota_bytes", "bytes"})


# States that somebody must know of, by the tone of their badge.
TONES = {
    "bad": {"damaged", "failed", "missing", "quarantined", "refused", "rejected", "revoked", "expired", "open"},
    "warn": {"yanked", "deprecated", "held", "awaiting-approval", "suspended", "lapsed"},
}


class Column:
    """A column of a list, or a line of a row's page: its label, and a function of the row or an attribute's path."""

    def __init__(self, label: str, value: Callable[[Any], object] | str, *, order: str | None = None) -> None:
        self.short_description, self.admin_order_field = label, order  # Django's names
        self.value = attrgetter(value) if isinstance(value, str) else value

    def __call__(self, row: Any) -> Any:
        return self.value(row)


def digest_prefix(word: str) -> str:
    """Return the hex digits of a digest that was pasted with or without `sha256:`."""
    return word.removeprefix("sha256:").lower()


def moment(at: datetime | None) -> str:
    """Render the time like `partials/time.html`."""
    if not at:
        return "-"
    iso, utc, relative = (_filter("times", f"{name}_time")(at) for name in ("iso", "utc", "relative"))
    return filled('<time datetime="{}" title="{}"\n      data-relative>{}</time>', iso, utc, relative)


def size(count: int | None) -> str:
    """Render the size like `partials/size.html`."""
    return str(_filter("numbers", "bytes_text")(count)) if count is not None else "-"


@cache
def _filter(library: str, name: str) -> Callable[[Any], Any]:
    """A filter of the portal, which this layer may not import."""
    return Engine.get_default().template_libraries[library].filters[name]


@cache
def as_column(model: type[models.Model], name: Any) -> Any:
    """Return a column that formats a time or size as the portal does; return any other name unchanged."""
    field = next((field for field in model._meta.concrete_fields if field.name == name), None)  # noqa: SLF001  # Django documents it
    if field is None or not (isinstance(field, models.DateTimeField) or name in SIZES):
        return name
    words = moment if isinstance(field, models.DateTimeField) else size

    @admin.display(description=field.verbose_name, ordering=name)
    def column(row: models.Model) -> str:
        return words(getattr(row, name))

    column.__name__ = name
    return column


def table(titles: Iterable[str], rows: Iterable[Iterable[object]]) -> SafeString:
    head = format_html_join("", "<th scope=col>{}</th>", ([title] for title in titles))
    cells = (format_html_join("", "<td>{}</td>", ([cell] for cell in row)) for row in rows)
    body = format_html_join("", "<tr>{}</tr>", ([row] for row in cells))
    return filled("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", head, body)


def badge(state: str) -> SafeString:
    """Render a state as the portal does: a verdict has its colour, the normal state has none."""
    tone = next((f" badge--{tone}" for tone, states in TONES.items() if state in states), "")
    return filled('<span class="badge{}">{}</span>', tone, state)


def short(digest: str) -> SafeString | str:
    """Show twelve digits of a digest, all of them on hover."""
    return filled('<code title="sha256:{}">{}</code>', digest, digest[:12]) if digest else "-"


def link(url: str, text: object) -> SafeString:
    return filled('<a href="{}">{}</a>', url, text)


def row_link(row: models.Model) -> SafeString:
    meta = row._meta  # noqa: SLF001  # Django's public name for it
    return link(reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[row.pk]), row)


def portal_link(url: str, about: object) -> SafeString:
    """Link to the portal's page, with a name for screen readers: fifty links that all read "open" say nothing."""
    return filled('<a href="{}">open<span class="visually-hidden"> {} in the portal</span></a>', url, about)
