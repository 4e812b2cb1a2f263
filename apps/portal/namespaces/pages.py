"""/namespaces/new, a namespace's settings (for its owners), and its storage usage. For members see members.py."""

from collections.abc import Mapping
from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts import namespace_deletion, namespaces
from apps.accounts.access.gate import namespace_for
from apps.accounts.access.operators import creation_refused
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import BreakingChanges, Namespace, Role, Visibility
from apps.lib.errors import Conflict, Invalid, RoleRequired
from apps.portal.people import reauthentication
from apps.portal.publish.form import sentence
from apps.releases.publishing import quotas

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
        self.fields["name"].widget.attrs |= {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}


@require_http_methods(["GET", "HEAD", "POST"])
def namespace_new(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    if refused := creation_refused(viewer):
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
    path("namespaces/new", namespace_new, name="namespace-new"),
    path("namespaces/<str:namespace>/change", namespace_change, name="namespace-change"),
    path("namespaces/<str:namespace>/delete", namespace_delete, name="namespace-delete"),
    path("namespaces/<str:namespace>/usage", usage, name="namespace-usage"),
]
