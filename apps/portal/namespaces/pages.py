"""/namespaces and /namespaces/new; a namespace's page, settings (for owners) and storage usage. Members: members.py."""

from collections.abc import Mapping
from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts import namespace_deletion, namespaces
from apps.accounts.access import connections, contacts, gate
from apps.accounts.access.gate import namespace_for
from apps.accounts.access.operators import creation_refused
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Namespace, Role, Visibility
from apps.accounts.namespaces import people_count
from apps.accounts.people import access_requests
from apps.lib.addresses import canonical
from apps.lib.errors import Conflict, RoleRequired
from apps.portal.frame import reauthentication
from apps.portal.frame.first_use import FirstUse
from apps.portal.frame.forms import PLAIN, form_page, posted, refusals_on
from apps.portal.frame.namespace_tabs import CONTENTS, frame_of
from apps.portal.frame.page_urls import Address, page_of, see_other
from apps.portal.frame.places import places_of
from apps.portal.frame.rows import address_named, plain_rows_of, rows_of
from apps.providers import reading as provider_reading
from apps.releases.catalogue import search
from apps.releases.models import Kind, Release, visible_now
from apps.releases.origin.models import Way
from apps.releases.publishing import quotas
from apps.signing.expiring import expiring

PAGE = 30
MAX_QUERY = 64
# Providers and open drafts on a namespace's page.
PROVIDERS = 30
DRAFTS = 5
# Releases beside the list, and the most downloaded, where there are so many modules that one must know where to begin.
RECENT = 5
START = 3
MANY = 4
WAYS = {Way.PAGE: "in the browser", Way.API: "over the API", Way.OCI: "by an OCI push", Way.GIT: "from a tag"}
# Modules and providers on the page of the storage.
LARGEST = 10


class SettingsForm(forms.Form):
    visibility = forms.ChoiceField(choices=Visibility.choices, initial=Visibility.PRIVATE, widget=forms.RadioSelect)
    description = forms.CharField(max_length=200, required=False, help_text="One line, shown in lists.")


class ChangeForm(SettingsForm):
    introduction = forms.CharField(
        label="Start here",
        max_length=namespaces.LONGEST_INTRODUCTION,
        required=False,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="Shown beside the modules, in Markdown. If empty, the page names the most downloaded ones.",
    )


class NamespaceForm(SettingsForm):
    name = forms.CharField(
        max_length=64, help_text="Letters and digits, with single - or _ between them: acme, Azure, data-platform."
    )
    field_order = ("name", "visibility", "description")

    def __init__(self, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data)
        self.fields["name"].widget.attrs |= PLAIN


@login_not_required
@require_safe
def listing(request: HttpRequest) -> HttpResponse:
    """Those that the viewer may see: first those in which they have a role, the highest first."""
    viewer, query = session_viewer(request), request.GET.get("q", "").strip()[:MAX_QUERY]
    rows = gate.visible_namespaces(viewer).annotate(held=gate.highest_role(viewer.user))
    found = rows.filter(canonical__startswith=canonical(query)) if query else rows
    page = page_of(found.order_by(F("held").desc(nulls_last=True), "canonical", "pk"), request, size=PAGE)
    places = places_of([(row, None if row.held is None else Role(row.held)) for row in page.object_list])
    may_create = viewer.is_identified and not creation_refused(viewer)
    context = {"page": page, "places": places, "query": query, "may_create": may_create}
    return render(request, "portal/namespaces/list.html", context)


@login_not_required
@require_safe
def namespace(request: HttpRequest, name: str) -> HttpResponse:
    viewer = session_viewer(request)
    row, found = gate.namespace_and_role(viewer, name)
    role = found if viewer.is_identified else None
    only_this = Namespace.objects.filter(pk=row.pk)
    # Members also see modules with only yanked versions, to restore them.
    docs = search.search(kind=Kind.MODULE, namespaces=only_this, include_unlisted=role is not None)
    page = page_of(docs.filter(namespace=row).select_related("namespace"), request, size=PAGE)
    modules = list(page.object_list)
    docs = search.search(kind=Kind.PROVIDER, namespaces=only_this, include_unlisted=role is not None)
    providers = list(docs.select_related("namespace")[:PROVIDERS])
    rows = rows_of([*modules, *providers])
    context = frame_of(row, role, CONTENTS) | {"page": page, "rows": rows[: len(modules)], "role": role}
    context["provider_rows"] = rows[len(modules) :]
    context["provider_count"] = docs.count() if len(providers) == PROVIDERS else len(providers)
    context["recent"] = _recent(row, role)
    if page.paginator.count >= MANY:
        most = search.search(kind=Kind.MODULE, namespaces=only_this, sort=search.DOWNLOADS).filter(namespace=row)
        context["start"] = plain_rows_of(most.filter(downloads__gt=0).select_related("namespace")[:START])
    context["may_publish"] = role is not None and role.covers(Role.PUBLISHER)
    if context["may_publish"]:
        context["drafts"] = provider_reading.open_drafts(viewer).filter(namespace=row)[:DRAFTS]
        if page.paginator.count + context["provider_count"] <= 1:
            context["first"] = first = _first_publication(row, request.path)
            if (unchanged := first.unchanged_for(request)) is not None:
                return unchanged
    context["may_ask"] = role is not None and not context["may_publish"]
    if viewer.user is not None and context["may_ask"]:
        context["requested"] = access_requests.recent_of(viewer.user).get(row.name)
    context["may_manage"] = role == Role.OWNER
    if context["may_manage"]:
        context["expiring"] = expiring(row)
        context["has_suspended"] = connections.has_any(row, suspended=True)
    if role is not None:  # only members see who works on what
        context["member_count"] = people_count(row)
        context["owners"] = contacts.owners_of(row)
    return render(request, "portal/namespace/page.html", context)


def _first_publication(row: Namespace, page: str) -> FirstUse:
    published = Release.objects.published().filter(namespace=row).order_by("published_at", "pk")
    first = published.values_list("kind", "name", "version", "published_at").first()
    if first is None:
        return FirstUse(page, "Waiting for the first publication")
    kind, name, version, at = first
    link = reverse(f"portal:{kind}-version", args=[row.name, *name.split("/"), version])
    return FirstUse(page, "", f"{row.name}/{name} {version} is published", at, link)


@dataclass(frozen=True, slots=True)
class Recent:
    release: Release
    address: Address
    way: str


def _recent(namespace: Namespace, role: Role | None) -> list[Recent]:
    """The newest releases that clients may fetch; for members also those in their cool-down."""
    rows = Release.objects.published().filter(namespace=namespace).select_related("created_by", "origin")
    rows = rows if role is not None else rows.filter(visible_now())
    return [
        Recent(one, address_named(one.kind, namespace.name, one.name), _way(one))
        for one in rows.order_by("-published_at", "-pk")[:RECENT]
    ]


def _way(release: Release) -> str:
    origin = getattr(release, "origin", None)
    return "" if origin is None else "from CI" if origin.claims else WAYS.get(origin.way, "")


@require_http_methods(["GET", "HEAD", "POST"])
def namespace_new(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    if refused := creation_refused(viewer):
        raise RoleRequired(refused, hint=contacts.ask_operator())
    form = NamespaceForm(posted(request))
    if form.is_valid():
        with refusals_on(form, "name"):
            created = namespaces.create(**form.cleaned_data, actor=viewer)
            messages.success(request, f"Namespace {created} created. Publish its first module.")
            return see_other("namespace", created.name)
    return form_page(request, "portal/namespaces/new.html", form)


@require_http_methods(["GET", "HEAD", "POST"])
def namespace_change(request: HttpRequest, namespace: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    form = ChangeForm(posted(request), initial={name: getattr(row, name) for name in ChangeForm.base_fields})
    if form.is_valid():
        if form.cleaned_data["visibility"] != row.visibility:
            reauthentication.require(request, f"Make {row} {form.cleaned_data['visibility']}")
        namespaces.change(namespace=row, actor=viewer, **form.cleaned_data)
        messages.success(request, f"Saved: {row} is {row.visibility}.")
        return see_other("namespace-change", row.name)
    return form_page(request, "portal/namespaces/change.html", form, **frame_of(row, Role.OWNER, "general"))


@require_http_methods(["GET", "HEAD", "POST"])
def namespace_delete(request: HttpRequest, namespace: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    context = {**frame_of(row, Role.OWNER, "delete"), "contents": namespace_deletion.contents_of(row)}
    if request.method != "POST":
        return render(request, "portal/namespaces/delete.html", context)
    reauthentication.require(request, f"Delete the namespace {row}")
    try:
        namespace_deletion.delete(namespace=row, actor=viewer)
    except Conflict as refusal:
        return render(request, "portal/namespaces/delete.html", {**context, "refusal": refusal}, status=409)
    messages.success(request, f"Namespace {row} deleted.")
    return see_other("home")


@login_not_required
@require_safe
def usage(request: HttpRequest, namespace: str) -> HttpResponse:
    """Stored bytes and versions against the quotas, for all readers of the namespace."""
    viewer = session_viewer(request)
    row, role = gate.namespace_and_role(viewer, namespace)
    used = quotas.usage(row)
    # Each with its page and its usage; with none until the first version is published.
    largest = []
    for one in quotas.largest(row, count=LARGEST):
        at, routes = [row.name, *one.name.split("/")], (one.kind, f"{one.kind}-users")
        largest.append((one, *(reverse(f"portal:{route}", args=at) if one.is_published else "" for route in routes)))
    context = {
        **frame_of(row, role if viewer.is_identified else None, "storage"),
        "usage": used,
        # The meters' colours: nearly full from 90 % on, full at 100 %.
        "nearly": {"bytes": used.max_bytes * 9 // 10, "versions": used.max_versions * 9 // 10},
        "full": {"bytes": used.max_bytes - 1, "versions": used.max_versions - 1},
        "largest": largest,
        "counts": quotas.counts(row),
    }
    return render(request, "portal/namespaces/usage.html", context)


urlpatterns = [
    path("namespaces", listing, name="namespaces"),
    path("namespaces/new", namespace_new, name="namespace-new"),  # before <name>
    path("namespaces/<str:name>", namespace, name="namespace"),
    path("namespaces/<str:namespace>/change", namespace_change, name="namespace-change"),
    path("namespaces/<str:namespace>/delete", namespace_delete, name="namespace-delete"),
    path("namespaces/<str:namespace>/usage", usage, name="namespace-usage"),
]
