"""Export the selected rows of a list, or with "select all" every filtered row, as CSV."""

import csv
import json
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone

CHUNK = 1_000
# A spreadsheet runs text that begins with one of these as a formula.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


class _Line:
    """A file for `csv.writer`, whose `writerow` returns what `write` returns."""

    def write(self, text: str) -> str:
        return text


@admin.action(permissions=["view"], description="Export selected rows as CSV")
def export_csv(model_admin: Any, _request: HttpRequest, queryset: QuerySet[Any]) -> StreamingHttpResponse:
    name = f"larder-{model_admin.opts.model_name}-{timezone.now():%Y-%m-%d}.csv"
    return StreamingHttpResponse(
        lines(queryset, model_admin.csv_columns),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )


def lines(rows: QuerySet[Any], columns: Sequence[str]) -> Iterator[str]:
    """Yield CSV lines, header first, from one query and in flat memory."""
    writer = csv.writer(_Line())
    yield writer.writerow([column.replace("__", " ").replace("_", " ") for column in columns])
    for row in rows.values_list(*columns).iterator(chunk_size=CHUNK):
        yield writer.writerow([cell(value) for value in row])


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    text = str(value)
    return f"'{text}" if text.startswith(FORMULAS) else text
