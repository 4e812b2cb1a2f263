"""/modules/<ns>/<name>/<system>/<version>/lifecycle, and of providers: what may be done with a published version, the
safe act first.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from apps.accounts.access import operators
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Role
from apps.lib.errors import Conflict, Invalid, NotFound
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import PLAIN, ReasonField, form_page, posted, refusals_on, sentence
from apps.portal.frame.page_urls import local_path, url_of
from apps.portal.versions.pages import VersionPages, owner_links
from apps.providers.models import ProviderVersion, Signing
from apps.providers.signatures import resigning
from apps.releases.lifecycle import impact
from apps.releases.lifecycle.actions import OWN_YANK_HOURS, PURGE, VersionActions, own_yank_until, role_to_yank
from apps.releases.lifecycle.verbs import MAX_REASON_CHARACTERS, MAX_REPLACEMENT_CHARACTERS
from apps.releases.models import Kind, Lifecycle, Release, State

# What is said afterwards, and on which page: an act that a worker carries out leads back to where it was asked for.
DONE = {
    "deprecate": ("version", "{} is deprecated: it stays listed and served, with a warning."),
    "yank": ("version", "{} is yanked: it is no longer listed."),
    "quarantine": ("version", "{} is in quarantine: it is no longer served."),
    "restore": ("version", "{} is restored."),
    "end_cooldown": ("version", "Clients see {} now."),
    "verify": ("lifecycle", "A worker is verifying the stored files of {}. This page will show the result."),
    "resign": ("lifecycle", "A worker is signing {} again."),
}
# What takes a version from its users, or gives it back to them. A deprecation does neither.
CONFIRMED = {
    "yank": "Yank",
    "quarantine": "Quarantine",
    "restore": "Restore",
    "end_cooldown": "End the cool-down of",
}


class ReasonForm(forms.Form):
    reason = ReasonField(MAX_REASON_CHARACTERS, "One or two sentences, shown to everyone who sees the version.")


class QuarantineForm(ReasonForm):
    reason = ReasonField(MAX_REASON_CHARACTERS, "Shown to staff on the version's page.")


class RestoreForm(ReasonForm):
    reason = ReasonField(MAX_REASON_CHARACTERS, "Recorded in the audit log.")


class DeprecateForm(ReasonForm):
    replacement = forms.CharField(
        max_length=MAX_REPLACEMENT_CHARACTERS,
        required=False,
        label="Replacement",
        help_text="A version (1.3.0), another address with or without a version, or a few words.",
    )


class PurgeForm(ReasonForm):
    confirm = forms.CharField(max_length=300, label="Type the address and the version")
    reason = ReasonField(MAX_REASON_CHARACTERS, "Shown permanently in the list of versions instead of the version.")
    field_order = ("reason", "confirm")

    def __init__(self, release: Release, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data, auto_id="purge_%s")
        self.fields["confirm"].help_text = f"Exactly: {release}"
        self.fields["confirm"].widget.attrs |= PLAIN


FORMS: dict[str, type[forms.Form]] = {
    "deprecate": DeprecateForm,
    "yank": ReasonForm,
    "quarantine": QuarantineForm,
    "restore": RestoreForm,
    "end_cooldown": RestoreForm,
    "verify": forms.Form,
    "resign": forms.Form,
}


@require_http_methods(["GET", "HEAD", "POST"])
def version_lifecycle(request: HttpRequest, *, pages: VersionPages, version: str, **names: str) -> HttpResponse:
    """Each action has its own form; `act` in the POST names it."""
    viewer, actions, address = session_viewer(request), pages.actions, pages.address_type(**names)
    release, role = _published(actions, viewer, address, version)
    if request.method != "POST":
        return _page(request, viewer, actions, address, release, role=role)
    act = request.POST.get("act", "")
    if act not in FORMS or (act == "resign" and pages.kind != Kind.PROVIDER):
        raise Invalid("This form names an unknown action.", hint="Go back, reload the page and send it again.")
    form = FORMS[act](request.POST, auto_id=f"{act}_%s")
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    if not form.is_valid():
        return _page(request, viewer, actions, address, release, role=role, bound={act: form}, status=status)
    if act in CONFIRMED:
        reauthentication.require(request, f"{CONFIRMED[act]} {release}")
    verb: Callable[..., Release] = resigning.resign if act == "resign" else getattr(actions, act)
    try:
        verb(viewer=viewer, address=address, version=version, **form.cleaned_data)
    except Conflict as refusal:
        seen, role = _published(actions, viewer, address, version)
        said, status = sentence(refusal), HTTPStatus.CONFLICT
        return _page(request, viewer, actions, address, seen, role=role, refusal=said, status=status)
    except Invalid as refusal:
        form.add_error(None, sentence(refusal))
        return _page(request, viewer, actions, address, release, role=role, bound={act: form}, status=status)
    page, words = DONE[act]
    messages.success(request, words.format(release))
    return HttpResponseRedirect(url_of(address, page, release.version), status=HTTPStatus.SEE_OTHER)


@require_http_methods(["GET", "HEAD", "POST"])
def version_purge(request: HttpRequest, *, pages: VersionPages, version: str, **names: str) -> HttpResponse:
    viewer, actions, address = session_viewer(request), pages.actions, pages.address_type(**names)
    release = _unless_purged(actions.operated_release(viewer, address, version, PURGE))
    form = PurgeForm(release, posted(request))
    if form.is_valid():
        reauthentication.require(request, f"Purge {release}", fresh=True)
        with refusals_on(form, "confirm"):
            actions.purge(viewer=viewer, address=address, version=version, **form.cleaned_data)
            messages.success(request, f"Purged: {release}. A worker deletes its files now.")
            back = local_path(request.GET.get("next", "")) or url_of(address, "versions")
            return HttpResponseRedirect(back, status=HTTPStatus.SEE_OTHER)
    elsewhere = impact.same_bytes_elsewhere(release)
    context = {"address": address, "release": release, "elsewhere": elsewhere}
    return form_page(request, "portal/lifecycle/purge.html", form, **context)


def _published(actions: VersionActions[Any], viewer: Viewer, address: Any, version: str) -> tuple[Release, Role]:
    release, role = actions.release_and_role(viewer, address, version)
    return _unless_purged(release), role


def _unless_purged(release: Release) -> Release:
    if release.state == State.PURGED:
        raise NotFound(release.removal, hint="There is nothing left to manage.")
    return release


def refused(
    request: HttpRequest, pages: VersionPages, address: Any, version: str, *, refusal: str, status: int
) -> HttpResponse:
    """The page with the errors of a form that was sent to its own address."""
    viewer = session_viewer(request)
    release, role = _published(pages.actions, viewer, address, version)
    return _page(request, viewer, pages.actions, address, release, role=role, refusal=refusal, status=status)


def _page(
    request: HttpRequest,
    viewer: Viewer,
    actions: VersionActions[Any],
    address: Any,
    release: Release,
    *,
    role: Role,
    bound: Mapping[str, forms.Form] | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    context: dict[str, Any] = {"address": address, "release": release, "refusal": refusal, "role": role}
    context["is_owner"] = role == Role.OWNER
    if context["is_owner"]:
        context |= owner_links(release, address)
    context["may_yank"] = role.covers(role_to_yank(viewer, release))
    context |= {"own_yank_hours": OWN_YANK_HOURS, "yankable_until": own_yank_until(release)}
    context["can_end_cooldown"] = context["is_owner"] and release.is_held_back
    context["is_operator"] = operators.is_operator(viewer)
    context["forms"] = {act: form(auto_id=f"{act}_%s") for act, form in FORMS.items()} | dict(bound or {})
    context["can_restore"] = release.quarantined_at is not None or release.lifecycle != Lifecycle.MAINTAINED
    shown = actions.default_version(release)
    context["latest"] = shown.release.version if shown else ""
    if release.quarantined_at is None and release.lifecycle != Lifecycle.YANKED:
        context["affected"] = impact.affected_by(release)
        context["days"] = impact.DAYS
        context["callers"] = actions.callers_of(viewer, release)
        context["falls_back_to"] = impact.fallback_of(release) if context["latest"] == release.version else ""
    if release.kind == Kind.PROVIDER:
        row = ProviderVersion.objects.select_related("key", "release__namespace").get(release=release)
        context["signing"] = {
            "key": row.key,
            "newer": resigning.newer_key_of(row),
            "is_publishers": row.signing == Signing.PUBLISHER,
            "is_under_way": resigning.is_under_way(release),
        }
    if context["is_operator"]:
        context["elsewhere"] = impact.same_bytes_elsewhere(release)
    return render(request, "portal/lifecycle/page.html", context, status=status)
