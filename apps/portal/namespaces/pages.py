"""/namespaces/new, and a namespace's page, settings (for its owners) and storage usage. For members see members.py."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts import namespace_deletion, namespaces
from apps.accounts.access import gate
from apps.accounts.access.gate import namespace_for
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import BreakingChanges, Namespace, Role, Visibility
from apps.accounts.namespaces import people_count
from apps.lib.errors import Conflict, Invalid, RoleRequired
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import PLAIN, sentence
from apps.portal.frame.paging import page_of
from apps.portal.frame.rows import rows_of
from apps.portal.namespaces.key_expiry import expiring
from apps.providers import reading as provider_reading
from apps.releases.catalogue import search
from apps.releases.models import Kind
from apps.releases.publishing import quotas

PAGE = 30
# Providers and open drafts on a namespace's page.
PROVIDERS = 30
DRAFTS = 5
# Modules on the usage page.
LARGEST = 10


class SettingsForm(forms.Form):
    visibility = forms.ChoiceField(choices=Visibility.choices, initial=Visibility.PRIVATE, widget=forms.RadioSelect)
    description = forms.CharField(max_length=200, required=False, help_text="One line, shown in lists.")
    breaking_changes = forms.ChoiceField(
        choices=BreakingChanges.choices,
        label="Versions that break something although their number does not say so",
        widget=forms.RadioSelect,
    )


class NamespaceForm(SettingsForm):
    name = forms.CharField(
        max_length=64, help_text="Letters and digits, with single - or _ between them: acme, Azure, data-platform."
    )
    breaking_changes = None  # type: ignore[assignment]  # Django's way to leave a field out: an owner may change it later
    field_order = ("name", "visibility", "description")

    def __init__(self, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data)
        self.fields["name"].widget.attrs |= PLAIN


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
    context: dict[str, Any] = {"namespace": row, "page": page, "rows": rows_of(page.object_list), "role": role}
    docs = search.search(kind=Kind.PROVIDER, namespaces=only_this, include_unlisted=role is not None)
    rows = context["provider_rows"] = rows_of(docs.select_related("namespace")[:PROVIDERS])
    context["provider_count"] = docs.count() if len(rows) == PROVIDERS else len(rows)
    context["may_publish"] = role is not None and role.covers(Role.PUBLISHER)
    if context["may_publish"]:
        context["drafts"] = provider_reading.open_drafts(viewer).filter(namespace=row)[:DRAFTS]
    context["may_manage"] = role == Role.OWNER
    if context["may_manage"]:
        context["expiring"] = expiring(row)
    if role is not None:  # only members see who works on what
        context["member_count"] = people_count(row)
        context["owners"] = gate.owners_of(row)
    return render(request, "portal/namespace/page.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def namespace_new(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    if refused := namespaces.creation_refused(viewer):
        raise RoleRequired(refused, hint="Ask an operator to create it for you.")
    form = NamespaceForm(request.POST if request.method == "POST" else None)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                namespace = namespaces.create(**form.cleaned_data, actor=viewer)
            except Conflict as refusal:
                form.add_error("name", sentence(refusal))
                status = 409
            except Invalid as refusal:
                form.add_error("name", sentence(refusal))
            else:
                messages.success(request, f"Namespace {namespace} created. Publish its first module.")
                return _redirect("portal:namespace", namespace)
    return render(request, "portal/namespaces/new.html", {"form": form}, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def namespace_change(request: HttpRequest, namespace: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    if request.method != "POST":
        form = SettingsForm(initial={name: getattr(row, name) for name in SettingsForm.base_fields})
        return render(request, "portal/namespaces/change.html", {"namespace": row, "form": form})
    form = SettingsForm(request.POST)
    if not form.is_valid():
        return render(request, "portal/namespaces/change.html", {"namespace": row, "form": form}, status=422)
    if form.cleaned_data["visibility"] != row.visibility:
        reauthentication.require(request, f"Make {row} {form.cleaned_data['visibility']}")
    namespaces.change(namespace=row, actor=viewer, **form.cleaned_data)
    messages.success(request, f"Saved: {row} is {row.visibility}.")
    return _redirect("portal:namespace-change", row)


@require_http_methods(["GET", "HEAD", "POST"])
def namespace_delete(request: HttpRequest, namespace: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    context = {"namespace": row, "contents": namespace_deletion.contents_of(row)}
    if request.method != "POST":
        return render(request, "portal/namespaces/delete.html", context)
    reauthentication.require(request, f"Delete the namespace {row}")
    try:
        namespace_deletion.delete(namespace=row, actor=viewer)
    except Conflict as refusal:
        return render(request, "portal/namespaces/delete.html", {**context, "refusal": refusal}, status=409)
    messages.success(request, f"Namespace {row} deleted.")
    return HttpResponseRedirect(reverse("portal:home"), status=HTTPStatus.SEE_OTHER)


@login_not_required
@require_safe
def usage(request: HttpRequest, namespace: str) -> HttpResponse:
    """Stored bytes and versions against the quotas, for all readers of the namespace."""
    row = namespace_for(session_viewer(request), namespace)
    used = quotas.usage(row)
    context = {
        "namespace": row,
        "usage": used,
        # The meters' colours: nearly full from 90 % on, full at 100 %.
        "nearly": {"bytes": used.max_bytes * 9 // 10, "versions": used.max_versions * 9 // 10},
        "full": {"bytes": used.max_bytes - 1, "versions": used.max_versions - 1},
        "largest": [(share, _page_of(row, share)) for share in quotas.largest(row, count=LARGEST)],
        "counts": quotas.counts(row),
    }
    return render(request, "portal/namespaces/usage.html", context)


def _page_of(namespace: Namespace, share: quotas.Share) -> str:
    """The page of the module or provider; empty until its first version is published."""
    return reverse(f"portal:{share.kind}", args=[namespace.name, *share.name.split("/")]) if share.is_published else ""


def _redirect(name: str, namespace: Namespace) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse(name, args=[namespace.name]), status=HTTPStatus.SEE_OTHER)


urlpatterns = [
    path("namespaces/new", namespace_new, name="namespace-new"),  # before <name>
    path("namespaces/<str:name>", namespace, name="namespace"),
    path("namespaces/<str:namespace>/change", namespace_change, name="namespace-change"),
    path("namespaces/<str:namespace>/delete", namespace_delete, name="namespace-delete"),
    path("namespaces/<str:namespace>/usage", usage, name="namespace-usage"),
]
