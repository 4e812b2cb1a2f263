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

from apps.accounts.access import contacts, operators
from apps.accounts.access.contacts import owners_of
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Role
from apps.lib.errors import Conflict, Invalid, NotFound
from apps.modules.dependents.impact import of_releases
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import PLAIN, ReasonField, form_page, posted, refusals_on, sentence
from apps.portal.frame.page_urls import local_path, url_of
from apps.portal.versions import effects
from apps.portal.versions.effects import NotifyForm, RestoreForm
from apps.portal.versions.pages import VersionPages, owner_links
from apps.providers.models import ProviderVersion, Signing
from apps.providers.signatures import resigning
from apps.releases.lifecycle import impact
from apps.releases.lifecycle.actions import (
    OWN_YANK_HOURS,
    PURGE,
    QUARANTINE,
    VersionActions,
    own_yank_until,
    role_to_yank,
)
from apps.releases.lifecycle.impact import Act
from apps.releases.lifecycle.verbs import MAX_REASON_CHARACTERS, MAX_REPLACEMENT_CHARACTERS, obstacle_to
from apps.releases.models import Kind, Lifecycle, Release, State

# What is said afterwards, and on which page: an act that a worker carries out leads back to where it was asked for.
DONE = {
    "deprecate": ("version", "{} is deprecated: it stays listed and served, with a warning."),
    "yank": ("version", "{} is yanked: it is no longer listed."),
    "quarantine": ("version", "{} is quarantined: it is no longer served."),
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


class QuarantineForm(NotifyForm, ReasonForm):
    reason = ReasonField(
        MAX_REASON_CHARACTERS, "Shown to owners and publishers of the namespace, and to staff. Its users do not see it."
    )


class ReplacedForm(NotifyForm, ReasonForm):
    reason = ReasonField(MAX_REASON_CHARACTERS, "Shown on the version's page, in the API and in the message.")
    replacement = forms.CharField(
        max_length=MAX_REPLACEMENT_CHARACTERS,
        required=False,
        label="Use instead",
        help_text="A version (1.3.0), another address with or without a version, or a few words.",
    )


class PurgeForm(NotifyForm, ReasonForm):
    confirm = forms.CharField(max_length=300, label="Type the address and the version")
    reason = ReasonField(MAX_REASON_CHARACTERS, "Shown permanently in the list of versions instead of the version.")
    field_order = ("reason", "confirm")

    def __init__(self, release: Release, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data, auto_id="purge_%s")
        self.fields["confirm"].help_text = f"Exactly: {release}"
        self.fields["confirm"].widget.attrs |= PLAIN


FORMS: dict[str, type[forms.Form]] = {
    "deprecate": ReplacedForm,
    "yank": ReplacedForm,
    "quarantine": QuarantineForm,
    "restore": RestoreForm,
    "end_cooldown": RestoreForm,
    "verify": forms.Form,
    "resign": forms.Form,
}
# Those with a page that shows the consequences above the button; the others are on the page of all.
WEIGHED = {"deprecate": Act.DEPRECATE, "yank": Act.YANK, "quarantine": Act.QUARANTINE}


@require_http_methods(["GET", "HEAD", "POST"])
def version_lifecycle(request: HttpRequest, *, pages: VersionPages, version: str, **names: str) -> HttpResponse:
    """All acts, or `?act=` with its consequences. Each has its own form; `act` in the POST names it."""
    viewer, actions, address = session_viewer(request), pages.actions, pages.address_type(**names)
    release, role = _published(actions, viewer, address, version)
    if request.method != "POST":
        act = request.GET.get("act", "")
        return _page(request, viewer, actions, address, release, role=role, act=act)
    act = request.POST.get("act", "")
    if act not in FORMS or (act == "resign" and pages.kind != Kind.PROVIDER):
        raise Invalid("This form names an unknown action.", hint="Go back, reload the page and send it again.")
    form = FORMS[act](request.POST, auto_id=f"{act}_%s")
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    if not form.is_valid():
        return _page(request, viewer, actions, address, release, role=role, act=act, bound=form, status=status)
    if act in CONFIRMED:
        reauthentication.require(request, f"{CONFIRMED[act]} {release}")
    verb: Callable[..., Release] = resigning.resign if act == "resign" else getattr(actions, act)
    said = {name: value for name, value in form.cleaned_data.items() if name != "notify"}
    if act in WEIGHED:
        found = of_releases(viewer, [release], WEIGHED[act], role=role)
        said["people"] = effects.people_of(viewer, form.cleaned_data, found, release.namespace)
    try:
        verb(viewer=viewer, address=address, version=version, **said)
    except Conflict as refusal:
        seen, role = _published(actions, viewer, address, version)
        words, status = sentence(refusal), HTTPStatus.CONFLICT
        return _page(request, viewer, actions, address, seen, role=role, refusal=words, status=status)
    except Invalid as refusal:
        form.add_error(None, sentence(refusal))
        return _page(request, viewer, actions, address, release, role=role, act=act, bound=form, status=status)
    page, words = DONE[act]
    messages.success(request, f"{words.format(release)}{effects.and_told(said.get('people', []))}")
    return HttpResponseRedirect(url_of(address, page, release.version), status=HTTPStatus.SEE_OTHER)


@require_http_methods(["GET", "HEAD", "POST"])
def version_purge(request: HttpRequest, *, pages: VersionPages, version: str, **names: str) -> HttpResponse:
    viewer, actions, address = session_viewer(request), pages.actions, pages.address_type(**names)
    release = _unless_purged(actions.operated_release(viewer, address, version, PURGE))
    form = PurgeForm(release, posted(request))
    # Staff with the permission act as owners do.
    found = of_releases(viewer, [release], Act.PURGE, role=Role.OWNER)
    if form.is_valid():
        reauthentication.require(request, f"Purge {release}", fresh=True)
        people = effects.people_of(viewer, form.cleaned_data, found, release.namespace)
        said = {"reason": form.cleaned_data["reason"], "confirm": form.cleaned_data["confirm"]}
        with refusals_on(form, "confirm"):
            actions.purge(viewer=viewer, address=address, version=version, people=people, **said)
            done = f"Purged: {release}. A worker deletes its files now.{effects.and_told(people)}"
            messages.success(request, done)
            back = local_path(request.GET.get("next", "")) or url_of(address, "versions")
            return HttpResponseRedirect(back, status=HTTPStatus.SEE_OTHER)
    context: dict[str, Any] = {"address": address, "release": release, "act": "purge"}
    context |= {"elsewhere": impact.same_bytes_elsewhere(release), "days": impact.DAYS}
    context |= effects.card_of(viewer, found, release.namespace)
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


def _may_quarantine(viewer: Viewer) -> bool:
    return viewer.user is not None and operators.is_operator(viewer) and viewer.user.has_perm(QUARANTINE)


def _page(
    request: HttpRequest,
    viewer: Viewer,
    actions: VersionActions[Any],
    address: Any,
    release: Release,
    *,
    role: Role,
    act: str = "",
    bound: forms.Form | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    context: dict[str, Any] = {"address": address, "release": release, "refusal": refusal, "role": role, "act": act}
    context["is_owner"] = role == Role.OWNER
    if context["is_owner"]:
        context |= owner_links(release, address)
    else:
        context["owners"] = contacts.named(owners_of(release.namespace))
    context["may_yank"] = role.covers(role_to_yank(viewer, release))
    context |= {"own_yank_hours": OWN_YANK_HOURS, "yankable_until": own_yank_until(release)}
    context["is_operator"] = operators.is_operator(viewer)
    shown = actions.default_version(release)
    context["latest"] = shown.release.version if shown else ""
    is_latest = context["latest"] == release.version
    if act in WEIGHED and obstacle_to(act, release) is None and (act != "quarantine" or _may_quarantine(viewer)):
        found = of_releases(viewer, [release], WEIGHED[act], role=role)
        context |= effects.card_of(viewer, found, release.namespace)
        context["falls_back_to"] = impact.fallback_of(release) if is_latest else ""
        instead = context["latest"] if not is_latest else context["falls_back_to"] if act == "yank" else ""
        initial = {"replacement": release.lifecycle_replacement or instead}
        context["form"] = bound or FORMS[act](auto_id=f"{act}_%s", initial=initial)
        return render(request, "portal/lifecycle/act.html", context, status=status)
    if release.quarantined_at is not None:
        context |= effects.tombstone_of(viewer, release, role)
    context["can_end_cooldown"] = context["is_owner"] and release.is_held_back
    context["forms"] = {name: form(auto_id=f"{name}_%s") for name, form in FORMS.items() if name not in WEIGHED}
    context["forms"] |= {act: bound} if bound else {}
    context |= {"restoring": bound} if bound and act == "restore" else {}
    # A tombstone has its form.
    context["can_restore"] = release.quarantined_at is None and release.lifecycle != Lifecycle.MAINTAINED
    if release.kind == Kind.PROVIDER:
        row = ProviderVersion.objects.select_related("key", "release__namespace").get(release=release)
        context["signing"] = {
            "key": row.key,
            "newer": resigning.newer_key_of(row),
            "is_publishers": row.signing == Signing.PUBLISHER,
            "is_under_way": resigning.is_under_way(release),
        }
    return render(request, "portal/lifecycle/page.html", context, status=status)
