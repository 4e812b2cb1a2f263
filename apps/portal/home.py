"""/: for publishers what waits for them and what they have, for others first steps; and recent publications. /mine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts.access import connections, gate
from apps.accounts.access.gate import Viewer
from apps.accounts.access.operators import creation_refused
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import ApiToken, Membership, Namespace, NamespaceQuerySet, Role, User
from apps.accounts.people import access_requests
from apps.modules.health import Health, health_of
from apps.modules.models import ModuleVersion
from apps.portal.frame.asking import asking_of
from apps.portal.frame.page_urls import Address, page_of, url_of
from apps.portal.frame.rows import address_named, address_of, rows_of
from apps.portal.namespaces.keys import expiring_in
from apps.portal.publish import own_releases
from apps.releases.catalogue import download_figures, search
from apps.releases.catalogue import reading as own
from apps.releases.models import Kind, SearchDoc
from apps.snippets import client_setup
from apps.snippets.module_snippets import block_of_unit, unit_to_call

RECENT = 8
POPULAR = 5
NAMESPACES = 12
PAGE_SIZE = 30
# On the home page.
SHOWN = 6
WAITING = 6
STILL_USED = 5
TOKEN_DAYS = 14
# An expired token is of interest for so long.
EXPIRED_DAYS = 7


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace in which the person has a role."""

    namespace: Namespace
    role: Role
    module_count: int
    provider_count: int


@login_not_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    context: dict[str, Any] = counts(viewer)
    # Only members see the publisher's name; the query is the same for everyone.
    recent = listed(viewer, sort=search.UPDATED).annotate(publisher=F("release__created_by__username"))
    context["recent"] = rows_of(recent[:RECENT])
    if viewer.user is None:
        return render(request, "portal/home/visitor.html", context)
    rows = own_namespaces(viewer.user)[: NAMESPACES + 1]
    places = [Place(row, Role(row.held), row.module_count, row.provider_count) for row in rows]
    context |= {"places": places[:NAMESPACES], "more_places": len(places) > NAMESPACES}
    context["may_create"] = not creation_refused(viewer)
    context["publishes"] = any(Role(row.held).covers(Role.PUBLISHER) for row in rows)
    is_empty = not (context["module_count"] or context["provider_count"])
    if context["publishes"]:
        context |= home_context(viewer, viewer.user)
    elif not is_empty:
        context |= reader_context(viewer, viewer.user, places)
    if is_empty:
        context["has_token"] = viewer.user.api_tokens.exists()
    return render(request, "portal/home/member.html", context)


def counts(viewer: Viewer) -> dict[str, int]:
    """The modules and providers that the viewer sees in lists, in one query."""
    docs = SearchDoc.objects.filter(namespace__in=gate.visible_namespaces(viewer), is_listed=True)
    kinds = {f"{kind}_count": Count("pk", filter=Q(kind=kind)) for kind in (Kind.MODULE, Kind.PROVIDER)}
    return docs.aggregate(**kinds)


def listed(viewer: Viewer, *, sort: str = search.BY_NAME) -> QuerySet[SearchDoc]:
    namespaces = gate.visible_namespaces(viewer)
    return search.search(kind=Kind.MODULE, namespaces=namespaces, sort=sort).select_related("namespace")


def own_namespaces(user: User) -> QuerySet[Any, Any]:
    """Namespaces in which the person or a team of theirs has a role, the highest role first, with counts of entries."""
    mine = Namespace.objects.filter(pk__in=gate.grants_of(user).values("namespace"))
    counts = {
        f"{kind}_count": Count("search_docs", filter=Q(search_docs__kind=kind)) for kind in (Kind.MODULE, Kind.PROVIDER)
    }
    return mine.annotate(held=gate.highest_role(user), **counts).order_by("-held", "name", "pk")


@dataclass(frozen=True, slots=True)
class Row:
    """A module or provider. `health` is None for a provider, and for a version that was not inspected."""

    doc: SearchDoc
    address: Address
    health: Health | None
    recent: int


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to act on, besides releases. `at` is when it ends, where it does."""

    tone: str
    picture: str
    title: str
    url: str
    text: str
    at: datetime | None = None


def publishing_places(user: User, need: Role = Role.PUBLISHER) -> NamespaceQuerySet:
    """The namespaces in which the person or a team of theirs has the role. Staff have no more than what is granted."""
    return Namespace.objects.filter(pk__in=gate.grants_of(user).filter(role__gte=need).values("namespace"))


def home_context(viewer: gate.Viewer, user: User) -> dict[str, Any]:
    places = publishing_places(user)
    docs = list(_with_health(download_figures.docs_in(places))[: SHOWN + 1])
    return {
        "waiting": own_releases.rows_of(list(own.waiting(viewer)[:WAITING])),
        "notices": [
            *_connection_notices(user),
            *_request_notices(user),
            *_key_notices(user),
            *_token_notices(user),
            *_use_notices(places),
        ],
        "mine": _rows(docs[:SHOWN], recent={}),
        "more_mine": len(docs) > SHOWN,
    }


def reader_context(viewer: gate.Viewer, user: User, places: Sequence[Place]) -> dict[str, Any]:
    """For people who publish nothing: a module to begin with, and whom to ask for more."""
    by_use = list(listed(viewer, sort=search.DOWNLOADS)[:POPULAR])
    example: dict[str, str] = {}
    versions = ModuleVersion.objects.for_blocks().select_related("release", "module__namespace")
    shown = versions.filter(release=by_use[0].release_id).first() if by_use else None
    if shown is not None:
        address = shown.module.address
        block = block_of_unit(address, shown.release.version, unit_to_call(shown))
        example = {"url": url_of(address), "block": block}
    return {
        "popular": rows_of([doc for doc in by_use if doc.downloads]),
        "example": example,
        "login": None if client_setup.is_plain_http() else client_setup.login(),
        "has_own_authority": client_setup.own_authority() is not None,
        "asking": asking_of(user, [place.namespace for place in places]),
    }


def _connection_notices(user: User) -> Iterator[Notice]:
    """Suspended connections do nothing until an owner confirms them; those that were left behind still work."""
    due: dict[Namespace, list[connections.Connected]] = {}
    for one in connections.to_do_in(publishing_places(user, Role.OWNER)):
        due.setdefault(one.row.namespace, []).append(one)
    for namespace, found in list(due.items())[:WAITING]:
        waiting = sum(one.is_suspended for one in found)
        count = waiting or len(found)
        what = "connection" if count == 1 else "connections"
        verb = "needs" if count == 1 else "need"
        yield Notice(
            tone="warn",
            picture="triangle-alert",
            title=f"{count} {'suspended ' if waiting else ''}{what} of {namespace} {verb} an owner",
            url=reverse("portal:namespace-connections", args=[namespace.name]),
            text="Nothing works until you confirm it." if waiting else "Still working. Confirm or remove each.",
        )


def _request_notices(user: User) -> Iterator[Notice]:
    for one in access_requests.open_requests(publishing_places(user, Role.OWNER), WAITING):
        yield Notice(
            tone="info",
            picture="users",
            title=f"{one.user.shown_name} requests publish access to {one.namespace}",
            url=access_requests.answer_path(one.namespace, one.user),
            text=one.reason or "No reason given.",
        )


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


def _key_notices(user: User) -> list[Notice]:
    return [
        Notice(
            tone=expiry.tone,
            picture="key-round",
            title=f"Signing key of {key.namespace} {'has expired' if expiry.is_over else 'expires'}",
            url=reverse("portal:key", args=[key.namespace.name, key.fingerprint]),
            text=f"{key.key_id}: add a new key, or extend it.",
            at=key.expires_at,
        )
        for expiry in expiring_in(publishing_places(user, Role.OWNER))
        for key in [expiry.key]
    ]


def _token_notices(user: User) -> Iterator[Notice]:
    """For the person's own tokens, and those of the service accounts whose team they manage."""
    now = timezone.now()
    managed = Membership.objects.filter(user=user, is_manager=True).values("team")
    own, machines = User.objects.filter(pk=user.pk), User.objects.filter(service_of__in=managed, is_active=True)
    theirs = ApiToken.objects.filter(user__in=own.values("pk").union(machines.values("pk")))
    soon = theirs.filter(
        revoked_at=None,
        suspended_at=None,
        expires_at__gt=now - timedelta(days=EXPIRED_DAYS),
        expires_at__lte=now + timedelta(days=TOKEN_DAYS),
    )
    for token in soon.select_related("user__service_of").order_by("expires_at", "pk")[:WAITING]:
        is_over, team = token.expires_at <= now, token.user.service_of
        whose, url = "Your token", reverse("portal:tokens")
        if token.user != user and team is not None:
            whose = f"Token of {token.user.username}"
            url = reverse("portal:service-account", args=[team.name, token.user.pk])
        yield Notice(
            tone="bad" if is_over else "warn",
            picture="terminal",
            title=f"{whose} {'has expired' if is_over else 'expires'}",
            url=url,
            text=f"Clients that use “{token.label}” {'' if is_over else 'will '}no longer work. Create another.",
            at=token.expires_at,
        )


def _use_notices(places: NamespaceQuerySet) -> Iterator[Notice]:
    for one in download_figures.still_used(places, STILL_USED):
        address = address_named(one.kind, one.namespace, one.name)
        people = f", {one.people} {'person' if one.people == 1 else 'people'} signed in" if one.people else ""
        yield Notice(
            tone="info",
            picture="users",
            title=f"{address} {one.version} is {one.lifecycle} and still used",
            url=url_of(address, "users"),
            text=f"{one.downloads} download{'' if one.downloads == 1 else 's'} in the last 30 days{people}.",
        )


urlpatterns = [path("", home, name="home"), path("mine", mine, name="mine")]
