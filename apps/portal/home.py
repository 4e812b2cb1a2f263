"""/: what needs the person's attention, and what they publish or first steps; and recent publications. /mine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts.access import gate
from apps.accounts.access.operators import creation_refused
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Namespace, NamespaceQuerySet, Role, User
from apps.modules.health import Health, health_of
from apps.modules.models import ModuleVersion
from apps.notify.attention import number as attention
from apps.notify.attention.matter import Person
from apps.portal.frame.asking import asking_of
from apps.portal.frame.context import Frame
from apps.portal.frame.page_urls import Address, page_of, url_of
from apps.portal.frame.places import Place, places_of
from apps.portal.frame.rows import address_of, plain_rows_of
from apps.releases.catalogue import download_figures, search
from apps.releases.models import Kind, SearchDoc
from apps.snippets import client_setup
from apps.snippets.module_snippets import block_of_unit, unit_to_call

RECENT = 8
POPULAR = 5
NAMESPACES = 12
PAGE_SIZE = 30
# On the home page.
SHOWN = 6


@login_not_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    seen = gate.visible_namespaces(viewer)
    context: dict[str, Any] = counts(seen)
    # Only members see the publisher's name; the query is the same for everyone.
    recent = listed(seen, sort=search.UPDATED).annotate(publisher=F("release__created_by__username"))
    context["recent"] = plain_rows_of(recent[:RECENT])
    if viewer.user is None:
        return render(request, "portal/home/visitor.html", context)
    person = Person.of(viewer)
    context["publishes"] = person.publishes
    context["places"] = places = places_of(person.places[:NAMESPACES])
    context["may_create"] = not creation_refused(viewer)
    context["to_do"], context["to_know"], known = attention.at_home(person)
    context["frame"] = Frame(request, known)  # it shows how much that is, and need not ask again
    is_empty = not (context["module_count"] or context["provider_count"])
    if person.publishes:
        docs = list(_with_health(download_figures.docs_in(person.publishing))[: SHOWN + 1])
        context |= {"mine": _rows(docs[:SHOWN], recent={}), "more_mine": len(docs) > SHOWN}
    elif not is_empty:
        context |= reader_context(seen, viewer.user, places)
    if is_empty:
        context["has_token"] = viewer.user.api_tokens.exists()
    return render(request, "portal/home/member.html", context)


def counts(seen: NamespaceQuerySet) -> dict[str, int]:
    """The modules and providers in the lists of these namespaces, in one query."""
    docs = SearchDoc.objects.filter(namespace__in=seen, is_listed=True)
    kinds = {f"{kind}_count": Count("pk", filter=Q(kind=kind)) for kind in (Kind.MODULE, Kind.PROVIDER)}
    return docs.aggregate(**kinds)


def listed(seen: NamespaceQuerySet, *, sort: str) -> QuerySet[SearchDoc]:
    return search.search(kind=Kind.MODULE, namespaces=seen, sort=sort).select_related("namespace")


@dataclass(frozen=True, slots=True)
class Row:
    """A module or provider. `health` is None for a provider, and for a version that was not inspected."""

    doc: SearchDoc
    address: Address
    health: Health | None
    recent: int


def publishing_places(user: User) -> NamespaceQuerySet:
    """The namespaces in which the person or a team of theirs publishes. Staff have no more than what is granted."""
    return Namespace.objects.filter(pk__in=gate.grants_of(user).filter(role__gte=Role.PUBLISHER).values("namespace"))


def reader_context(seen: NamespaceQuerySet, user: User, places: Sequence[Place]) -> dict[str, Any]:
    """For people who publish nothing: a module to begin with, and whom to ask for more."""
    by_use = list(listed(seen, sort=search.DOWNLOADS)[:POPULAR])
    example: dict[str, str] = {}
    versions = ModuleVersion.objects.for_blocks().select_related("release", "module__namespace")
    shown = versions.filter(release=by_use[0].release_id).first() if by_use else None
    if shown is not None:
        address = shown.module.address
        block = block_of_unit(address, shown.release.version, unit_to_call(shown))
        example = {"url": url_of(address), "block": block}
    return {
        "popular": plain_rows_of([doc for doc in by_use if doc.downloads]),
        "example": example,
        "login": None if client_setup.is_plain_http() else client_setup.login(),
        "has_own_authority": client_setup.own_authority() is not None,
        "asking": asking_of(user, [place.namespace for place in places]),
    }


@never_cache
@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    user = session_viewer(request).user
    assert user is not None  # noqa: S101  # the middleware lets nobody else in
    page = page_of(_with_health(download_figures.docs_in(publishing_places(user))), request, size=PAGE_SIZE)
    docs = list(page.object_list)
    context = {"page": page, "rows": _rows(docs, download_figures.recent_downloads(docs)) if docs else []}
    return render(request, "portal/mine/page.html", context)


def _with_health(docs: QuerySet[SearchDoc]) -> QuerySet[SearchDoc]:
    return docs.annotate(health=F("release__module_version__health"))


def _rows(docs: Sequence[SearchDoc], recent: dict[int, int]) -> list[Row]:
    stored = {doc.pk: Health.from_dict(getattr(doc, "health", None)) for doc in docs}
    unrated = [doc for doc in docs if doc.kind == Kind.MODULE and stored[doc.pk] is None]
    measured: dict[int, Health | None] = {}
    if unrated:  # versions that an older Larder published: from all that it has read of them, in one query
        versions = ModuleVersion.objects.filter(release__in=[doc.release_id for doc in unrated]).for_pages()
        measured = {version.release_id: health_of(version) for version in versions}
    return [
        Row(doc, address_of(doc), stored[doc.pk] or measured.get(doc.release_id), recent.get(doc.pk, 0)) for doc in docs
    ]


urlpatterns = [path("", home, name="home"), path("mine", mine, name="mine")]
