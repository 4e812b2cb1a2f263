"""/api/v1/search: one search over everything that the caller may see, in the groups of the search page."""

from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import throttling
from apps.accounts.identity.sign_ins import address_of
from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation
from apps.api.frame.paging import text_of
from apps.api.frame.search_answers import SearchAnswer
from apps.lib.errors import Invalid
from apps.releases.catalogue import everything
from apps.releases.catalogue.documents import moment
from apps.releases.catalogue.everything import Group, Hit

_QUERY = {
    "q": "Words, each of which begins an indexed word. Misspelled ones are corrected if nothing matches.",
    "in": "Only this group, with more results.",
}


class Search(ApiView):
    """The best 5 of each group, or 50 of one: by how exactly they match, then downloads, then the newest."""

    http_method_names = ["get", "head"]

    @operation(
        "Search everything",
        answers={200: SearchAnswer},
        query=_QUERY,
        choices={"in": list(everything.GROUPS)},
        public=True,
    )
    def get(self, request: Request) -> Response:
        query, only = text_of(request, "q"), text_of(request, "in")
        if only and only not in everything.GROUPS:
            raise Invalid(f"There is no group {only!a}.", hint=f"Ask for {', '.join(everything.GROUPS)}.")
        if query:
            throttling.count(throttling.by_account("search", self.viewer.user_id, address_of(request)))
        limit = everything.MAX_SHOWN if only else everything.SHOWN
        answer = everything.everything(self.viewer, query, only=only, limit=limit)
        return Response(
            {
                "query": query,
                "words": answer.words,
                "corrected": answer.corrected,
                "complete": answer.is_complete,
                "groups": [_group(group) for group in answer.groups],
            }
        )


def _group(group: Group) -> dict[str, Any]:
    return {"kind": group.kind, "count": group.count, "results": [_result(hit) for hit in group.hits]}


def _result(hit: Hit) -> dict[str, Any]:
    doc = hit.doc
    if doc is None:
        return {**_EMPTY, "name": hit.name, "address": hit.name, "description": hit.description}
    return {
        "name": hit.name or doc.name,
        "address": str(doc),
        "path": hit.unit,
        "description": doc.description,
        "version": doc.version,
        "lifecycle": doc.lifecycle,
        "published_at": moment(doc.published_at),
        "downloads": doc.downloads,
    }


_EMPTY: dict[str, Any] = {
    "name": "",
    "address": "",
    "path": "",
    "description": "",
    "version": None,
    "lifecycle": None,
    "published_at": None,
    "downloads": None,
}

urlpatterns = [path("search", Search.as_view(), name="search")]
