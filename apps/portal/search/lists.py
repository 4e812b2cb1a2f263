"""The lists of modules, with filters, and of providers."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from apps.accounts.access import gate, throttling
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.identity.sign_ins import address_of
from apps.accounts.models import Grant, Role
from apps.admin_base.counting import Many
from apps.modules.catalogue import entries
from apps.portal.frame import elsewhere
from apps.portal.frame.negotiation import is_htmx
from apps.portal.frame.page_urls import page_of
from apps.portal.frame.rows import rows_of
from apps.releases.catalogue import indexing, search
from apps.releases.models import Kind, SearchDoc

PAGE = 30
ELSEWHERE = 5  # providers of other registries, of which another page has all
RECENT = timedelta(days=30)
# "" sorts by best match for a query, else by name.
SORTS = {"": "Name", search.UPDATED: "Last published", search.DOWNLOADS: "Downloads"}
SORTS_OF_HITS = SORTS | {"": "Best match", search.BY_NAME: "Name"}


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The query string; every value is valid, unknown ones are ignored."""

    q: str
    namespace: str
    system: str
    provider: str
    sort: str
    yanked: bool
    recent: bool
    team: str
    of_rooms: dict[str, str]  # values of their facets

    @classmethod
    def from_request(cls, sent: QueryDict) -> "ListQuery":
        q, namespace, system, provider = (_clean(sent.get(name, "")) for name in ("q", *search.FACETS))
        sort = sent.get("sort", "")
        # `aws` from an old link, or another spelling of the same provider.
        provider = entries.provider_address(provider) or provider
        return cls(
            q,
            namespace,
            system,
            provider,
            sort if sort in SORTS_OF_HITS | _room_sorts() else "",
            yanked=bool(sent.get("yanked")),
            recent=bool(sent.get("recent")),
            team=_clean(sent.get("team", "")),
            of_rooms={one.name: _clean(sent.get(one.name, "")) for one in indexing.room_facets},
        )

    @property
    def filters(self) -> dict[str, str]:
        own = {facet: value for facet in search.FACETS if (value := getattr(self, facet))}
        return own | {facet: value for facet, value in self.of_rooms.items() if value}

    @property
    def is_filtered(self) -> bool:
        return bool(self.q or self.filters or self.recent or self.team)

    @property
    def since(self) -> datetime | None:
        return timezone.now() - RECENT if self.recent else None

    def docs(self, namespaces: search.Namespaces, **other: Any) -> QuerySet[SearchDoc]:
        """The matching entries; `other` replaces fields of the query."""
        question: dict[str, Any] = {
            "filters": self.filters,
            "include_unlisted": self.yanked,
            "since": self.since,
            "sort": self.sort or search.RELEVANCE,
        }
        return search.search(kind=Kind.MODULE, namespaces=namespaces, query=self.q, **question | other)


@login_not_required
@require_safe
def modules(request: HttpRequest) -> HttpResponse:
    """The page, or only its results for htmx."""
    viewer, query = session_viewer(request), ListQuery.from_request(request.GET)
    if query.is_filtered:
        throttling.count(throttling.by_account("search", viewer.user_id, address_of(request)))
    teams = _teams(viewer)
    visible = gate.visible_namespaces(viewer)
    if query.team in teams:
        held = Grant.objects.filter(team__name=query.team, role__gte=Role.PUBLISHER)
        visible = visible.filter(pk__in=held.values("namespace"))
    seen: search.Namespaces = search.keys_of(visible) if query.q else visible
    page = page_of(query.docs(seen).select_related("namespace"), request, size=PAGE)
    context: dict[str, Any] = {"asked": query, "page": page, "rows": rows_of(page.object_list, query.q), "teams": teams}
    context["sorts"] = (SORTS_OF_HITS if query.q else SORTS) | _room_sorts()
    context["facets"] = search.facet_counts(
        kind=Kind.MODULE,
        namespaces=seen,
        query=query.q,
        filters=query.filters,
        include_unlisted=query.yanked,
        since=query.since,
    )
    if isinstance(page.paginator.count, Many):  # then the values are those of a part
        context["facets"] = {
            name: [replace(one, count=Many(one.count)) for one in values] for name, values in context["facets"].items()
        }
    context["room_facets"] = [
        (one, values, query.of_rooms[one.name])
        for one in indexing.room_facets
        if (values := context["facets"][one.name])
    ]
    if not page.paginator.count:
        # Counts that an empty list offers: with yanked modules, and without the filters.
        with_yanked = query.docs(seen, include_unlisted=True, sort=search.BY_NAME)
        unfiltered = query.docs(gate.visible_namespaces(viewer), filters={}, since=None, sort=search.BY_NAME)
        context |= {
            "yanked_count": 0 if query.yanked else with_yanked.count(),
            "without_filters": _without_filters(request.GET),
            "unfiltered_count": unfiltered.count() if replace(query, q="").is_filtered else 0,
        }
    response = render(request, f"portal/modules/{'fragment' if is_htmx(request) else 'list'}.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _without_filters(sent: QueryDict) -> str:
    rest = sent.copy()
    for name in (*search.facets(), "team", "recent", "page"):
        rest.pop(name, None)
    return f"?{rest.urlencode()}"


def _room_sorts() -> dict[str, str]:
    return {one.name: f"{one.label}, {one.values[0]} first" for one in indexing.room_facets}


def _teams(viewer: Viewer) -> list[str]:
    """Teams that the viewer sees and that publish somewhere."""
    publishing = Grant.objects.filter(team__isnull=False, role__gte=Role.PUBLISHER).values("team")
    teams = gate.visible_teams(viewer).filter(pk__in=publishing).order_by("name")
    return list(teams.values_list("name", flat=True)[: search.MAX_FACET_VALUES])


def _clean(text: str) -> str:
    """PostgreSQL refuses NUL in text, and no address is longer than 200 characters."""
    return text.replace("\0", "").strip()[:200]


@login_not_required
@require_safe
def providers(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    query = _clean(request.GET.get("q", ""))
    if query:
        throttling.count(throttling.by_account("search", viewer.user_id, address_of(request)))
    docs = search.search(kind=Kind.PROVIDER, namespaces=gate.visible_namespaces(viewer), query=query)
    page = page_of(docs.select_related("namespace"), request, size=PAGE)
    context: dict[str, Any] = {"page": page, "rows": rows_of(page.object_list, query), "query": query}
    context["elsewhere"] = elsewhere.providers_found(viewer, query, ELSEWHERE) if page.number == 1 else None
    return render(request, "portal/providers/list.html", context)


urlpatterns = [path("modules", modules, name="modules"), path("providers", providers, name="providers")]
