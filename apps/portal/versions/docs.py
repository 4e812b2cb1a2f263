"""The page of a version's docs beside the list of its pages, for our own providers and those of other registries."""

from typing import Any

from django.http import HttpRequest

from apps.lib.errors import NotFound
from apps.releases.docs import browsing
from apps.releases.docs.layouts import INDEX
from apps.releases.docs.models import DocsKind, DocsQuerySet

OPEN_UP_TO = 60


def require_own_address(kind: str) -> None:
    """Raises NotFound for the overview under the address of other pages."""
    if kind == DocsKind.OVERVIEW:
        raise NotFound("The overview has its own address.")


def contents(request: HttpRequest, pages: DocsQuerySet[Any], url: str, kind: str, slug: str = INDEX) -> dict[str, Any]:
    """The context of portal/version/docs.html; `url` is that of the overview. Without `kind` the overview.

    Raises NotFound.
    """
    page = browsing.page_of(pages, kind or DocsKind.OVERVIEW, slug)
    query = request.GET.get("q", "").replace("\0", "").strip()[:200]
    sections = browsing.sections_of(pages, query)
    total = sum(section.count for section in sections)
    return {
        "page": page,
        "kind_label": DocsKind(page.kind).label.removesuffix("s") if page else "",
        "sections": sections,
        "query": query,
        "page_count": total,
        "found_count": sum(section.match_count for section in sections),
        "are_open": bool(query) or total <= OPEN_UP_TO,
        "docs_url": url,
    }
