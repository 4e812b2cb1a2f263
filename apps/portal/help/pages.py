"""/help: the documentation of this version of Larder, for everyone who can open it, without the internet."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from apps.portal.help import manual


@login_not_required
@require_safe
def help_page(request: HttpRequest, page: str = manual.INDEX) -> HttpResponse:
    shown = manual.page_of(page)
    names = (manual.INDEX, *manual.names())
    at = names.index(page)
    neighbours = [manual.page_of(one) for one in names[max(at - 1, 0) : at] + names[at + 1 : at + 2]]
    context = {
        "page": shown,
        "chapters": manual.chapters(),
        "is_index": page == manual.INDEX,
        "previous": neighbours[0] if at else None,
        "following": neighbours[-1] if at + 1 < len(names) else None,
    }
    return render(request, "portal/help/page.html", context)


urlpatterns = [
    path("help", help_page, name="help"),
    path("help/<path:page>", help_page, name="help-page"),
]
