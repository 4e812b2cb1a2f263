"""Pages of lists: `{"<what>": […], "next": "/api/v1/…?cursor=…"}`; `next` is null on the last page.

A cursor belongs to its list and query; clients follow `next` and read nothing into it.
"""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request

from apps.lib.errors import Invalid

PAGE_SIZE = 100
CURSOR = {"cursor": "From `next` of the page before."}
_LAST_OFFSET = 10_000_000


def page_of(request: Request, rows: QuerySet[Any] | Sequence[Any]) -> tuple[list[Any], str | None]:
    """A page of rows in a total order, and `next`; one row more is read to learn whether there is one."""
    text = request.query_params.get("cursor", "0")
    if not (text.isascii() and text.isdecimal() and len(text) < len(str(_LAST_OFFSET))):
        raise Invalid(f"The cursor {text[:40]!a} is not from this list.", hint="Follow `next` of the page before.")
    end = int(text) + PAGE_SIZE
    found = list(rows[int(text) : end + 1])
    return found[:PAGE_SIZE], next_page(request, str(end)) if len(found) > PAGE_SIZE else None


def next_page(request: Request, cursor: str) -> str:
    query = request.query_params.copy()
    query["cursor"] = cursor
    return f"{request.path}?{query.urlencode()}"


def text_of(request: Request, name: str) -> str:
    """A parameter without NUL, which PostgreSQL refuses."""
    return str(request.query_params.get(name, "")).replace("\0", "").strip()[:200]
