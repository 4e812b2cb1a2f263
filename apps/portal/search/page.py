"""/search: one box over everything, as a page, as its results for htmx, and as the options of the command palette."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from apps.accounts.access import throttling
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.identity.sign_ins import address_of
from apps.lib.text.search_terms import words_of
from apps.portal.frame import elsewhere
from apps.portal.frame.negotiation import is_htmx
from apps.portal.help import manual
from apps.portal.search.actions import actions_for
from apps.portal.search.rows import section_elsewhere, section_of_people, sections_of
from apps.releases.catalogue import everything

MAX_QUERY = 200  # characters: no address is longer
SHOWN_IN_PALETTE = 3


@login_not_required
@require_safe
def search(request: HttpRequest) -> HttpResponse:
    viewer, query, only = session_viewer(request), query_of(request), request.GET.get("in", "")
    if only not in everything.GROUPS:
        only = ""
    if query:
        throttling.count(throttling.by_account("search", viewer.user_id, address_of(request)))
    is_fragment = is_htmx(request)
    is_palette = is_fragment and "palette" in request.GET
    limit = SHOWN_IN_PALETTE if is_palette else everything.MAX_SHOWN if only else everything.SHOWN
    answer = everything.everything(viewer, query, only=only, limit=limit)
    sections = sections_of(answer.groups, answer.words)
    found = elsewhere.providers_found(viewer, query, limit) if answer.words and not only else None
    people = section_of_people(viewer, words_of(query), limit) if not only else None
    if people is not None:
        sections.append(people)
    if found is not None:
        sections.append(section_elsewhere(found))
    context: dict[str, Any] = {
        "query": query,
        "only": only,
        "answer": answer,
        "elsewhere": found,
        "people": people,
        "sections": sections,
        "actions": [] if only else actions_for(viewer, query),
        "help": [] if only else manual.find(query)[:limit],
    }
    template = "palette" if is_palette else "fragment" if is_fragment else "page"
    response = render(request, f"portal/search/{template}.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def query_of(request: HttpRequest) -> str:
    """PostgreSQL refuses NUL in text."""
    return request.GET.get("q", "").replace("\0", " ").strip()[:MAX_QUERY]


urlpatterns = [path("search", search, name="search")]
