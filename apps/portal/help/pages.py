"""/help: the documentation of this version of Larder, for everyone who can open it, without the internet.

`/help?q=` searches all of Docs: these pages, those that say how to use this registry, and the API.
"""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from apps.lib.text.search_terms import words_of
from apps.portal.help import api, how_to, manual

MAX_FOUND = 30
MAX_QUERY = 200


@login_not_required
@require_safe
def help_page(request: HttpRequest, page: str = manual.INDEX) -> HttpResponse:
    query = request.GET.get("q", "").strip()[:MAX_QUERY]
    if page == manual.INDEX and query:
        return _found(request, query)
    names = (manual.INDEX, *manual.names())
    shown = manual.page_of(page)
    at = names.index(page)
    neighbours = [manual.page_of(one) for one in names[max(at - 1, 0) : at] + names[at + 1 : at + 2]]
    context = {
        "page": shown,
        "is_index": page == manual.INDEX,
        "previous": neighbours[0] if at else None,
        "following": neighbours[-1] if at + 1 < len(names) else None,
    }
    return render(request, "portal/docs/page.html", context)


def _found(request: HttpRequest, query: str) -> HttpResponse:
    words = words_of(query)
    context = {
        "query": query,
        "sections": [*how_to.find(words), *manual.find(query, limit=MAX_FOUND, anywhere=True)],
        "endpoints": api.find(words)[:MAX_FOUND],
    }
    return render(request, "portal/docs/found.html", context)


urlpatterns = [
    path("help", help_page, name="help"),
    path("help/<path:page>", help_page, name="help-page"),
]
