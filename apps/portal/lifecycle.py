"""/modules/<ns>/<name>/<system>/<version>/lifecycle: what may be done with a published version, the safe act first."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods

from apps.accounts import access, operators
from apps.accounts.access import Viewer
from apps.accounts.authentication import session_viewer
from apps.accounts.models import Role
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Conflict, Invalid, NotFound
from apps.modules import affected, catalogue, lifecycle
from apps.modules.reading import module_for
from apps.portal.publish_form import sentence
from apps.releases import tombstones
from apps.releases.lifecycle import REASON_MOST, REPLACEMENT_MOST
from apps.releases.models import Lifecycle, Release, State

DONE = {
    "deprecate": "{} is deprecated: it stays listed and served, and says so everywhere.",
    "yank": "{} is yanked: no list names it any more.",
    "quarantine": "{} is in quarantine: nothing of it is served any more.",
    "restore": "{} is restored.",
}


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=REASON_MOST,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="One or two sentences. Everybody who sees the version reads them.",
    )


class QuarantineForm(ReasonForm):
    reason = forms.CharField(
        max_length=REASON_MOST,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Staff read it on the version's page.",
    )


class RestoreForm(ReasonForm):
    reason = forms.CharField(
        max_length=REASON_MOST, widget=forms.Textarea(attrs={"rows": 2}), help_text="The audit keeps it."
    )


class DeprecateForm(ReasonForm):
    replacement = forms.CharField(
        max_length=REPLACEMENT_MOST,
        required=False,
        label="What to use instead",
        help_text="A version (1.3.0), another module (acme/network/aws or acme/network/aws 2.0.0), or a few words.",
    )


class PurgeForm(ReasonForm):
    confirm = forms.CharField(max_length=300, label="Type the address and the version")
    reason = forms.CharField(
        max_length=REASON_MOST,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="It stays on the page of all versions for ever, in place of the version.",
    )
    field_order = ("reason", "confirm")

    def __init__(self, release: Release, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data, auto_id="purge_%s")
        self.fields["confirm"].help_text = f"Exactly: {release}"
        self.fields["confirm"].widget.attrs |= {
            "autocomplete": "off",
            "autocapitalize": "none",
            "spellcheck": "false",
        }


FORMS: dict[str, type[ReasonForm]] = {
    "deprecate": DeprecateForm,
    "yank": ReasonForm,
    "quarantine": QuarantineForm,
    "restore": RestoreForm,
}


@require_http_methods(["GET", "HEAD", "POST"])
def version_lifecycle(request: HttpRequest, namespace: str, name: str, system: str, version: str) -> HttpResponse:
    """Each act is a form of its own; `act` in the POST says which one was sent."""
    viewer, address = session_viewer(request), ModuleAddress(namespace, name, system)
    release = _published(viewer, address, version)
    if request.method != "POST":
        return _page(request, viewer, address, release)
    act = request.POST.get("act", "")
    if act not in FORMS:
        raise Invalid("This form names no act that there is.", mend="Go back, reload the page and send it again.")
    form = FORMS[act](request.POST, auto_id=f"{act}_%s")
    if not form.is_valid():
        return _page(request, viewer, address, release, bound={act: form}, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    verb = getattr(lifecycle, act)
    try:
        verb(viewer=viewer, address=address, version=version, **form.cleaned_data)
    except Conflict as refusal:
        seen = _published(viewer, address, version)
        return _page(request, viewer, address, seen, refusal=sentence(refusal), status=HTTPStatus.CONFLICT)
    except Invalid as refusal:
        form.add_error(None, sentence(refusal))
        return _page(request, viewer, address, release, bound={act: form}, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    messages.success(request, DONE[act].format(release))
    return _to("portal:module-version", [namespace, name, system, release.version])


@require_http_methods(["GET", "HEAD", "POST"])
def version_purge(request: HttpRequest, namespace: str, name: str, system: str, version: str) -> HttpResponse:
    viewer, address = session_viewer(request), ModuleAddress(namespace, name, system)
    operators.operated_namespace(viewer, namespace, only_name=address.path_name)
    release = _published(viewer, address, version)
    form = PurgeForm(release, request.POST if request.method == "POST" else None)
    status = HTTPStatus.OK
    if request.method == "POST":
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        if form.is_valid():
            try:
                lifecycle.purge(viewer=viewer, address=address, version=version, **form.cleaned_data)
            except Invalid as refusal:
                form.add_error("confirm", sentence(refusal))
            else:
                messages.success(request, f"{release} is removed. A worker deletes its bytes now.")
                return _to("portal:module-versions", [namespace, name, system])
    context = {"address": address, "release": release, "form": form}
    context["elsewhere"] = affected.same_bytes_elsewhere(release)
    return render(request, "portal/module/lifecycle/purge.html", context, status=status)


def _published(viewer: Viewer, address: ModuleAddress, version: str) -> Release:
    release = lifecycle.release_of(viewer, address, version)
    if release.state == State.PURGED:
        raise NotFound(tombstones.sentence_of(release), mend="There is nothing left to manage.")
    return release


def _page(
    request: HttpRequest,
    viewer: Viewer,
    address: ModuleAddress,
    release: Release,
    *,
    bound: Mapping[str, forms.Form] | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    role = access.role_on(viewer, release.namespace, only_name=address.path_name)
    context: dict[str, Any] = {"address": address, "release": release, "refusal": refusal, "role": role}
    context["is_owner"] = role == Role.OWNER
    context["is_operator"] = operators.is_operator(viewer)
    context["forms"] = {act: form(auto_id=f"{act}_%s") for act, form in FORMS.items()} | dict(bound or {})
    context["can_restore"] = release.quarantined_at is not None or release.lifecycle != Lifecycle.MAINTAINED
    shown = catalogue.default_version(module_for(viewer, address))
    context["latest"] = shown.release.version if shown else ""
    if release.quarantined_at is None and release.lifecycle != Lifecycle.YANKED:
        context["affected"] = affected.affected_by(viewer, release)
        context["days"] = affected.DAYS
    if context["is_operator"]:
        context["elsewhere"] = affected.same_bytes_elsewhere(release)
    return render(request, "portal/module/lifecycle/page.html", context, status=status)


def _to(name: str, where: list[str]) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse(name, args=where), status=HTTPStatus.SEE_OTHER)


_VERSION = "modules/<str:namespace>/<str:name>/<str:system>/<str:version>"

urlpatterns = [
    path(f"{_VERSION}/lifecycle", version_lifecycle, name="module-lifecycle"),
    path(f"{_VERSION}/lifecycle/purge", version_purge, name="module-purge"),
]
