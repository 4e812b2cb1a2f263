"""/lifecycle/<action>/<1,2,…>: staff take one action on the versions that they selected in the admin."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods

from apps.accounts.access import operators
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.lib.errors import Conflict, NotFound, RegistryError, RoleRequired
from apps.modules import lifecycle as module_lifecycle
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import sentence
from apps.portal.frame.page_urls import local_path
from apps.portal.versions.lifecycle import FORMS
from apps.providers import lifecycle as provider_lifecycle
from apps.releases.lifecycle import impact, verbs
from apps.releases.lifecycle.actions import DEPRECATE, QUARANTINE, RESTORE, YANK, VersionActions
from apps.releases.models import Kind, Release, State

_KEY = re.compile(r"[0-9]{1,18}")
MAX_RELEASES = 500
# The people and modules that it affects take a few queries each.
MAX_DESCRIBED = 20
MAX_NAMED = 5
# Nobody reads more messages than that.
MAX_REFUSALS_SHOWN = 10
ACTIONS: dict[str, VersionActions[Any]] = {
    Kind.MODULE: module_lifecycle.ACTIONS,
    Kind.PROVIDER: provider_lifecycle.ACTIONS,
}


@dataclass(frozen=True, slots=True)
class Action:
    permission: str
    verb: str
    lead: str
    done: str
    affects_people: bool = False
    affects_bytes: bool = False


SEVERAL = {
    "deprecate": Action(
        DEPRECATE,
        "Deprecate",
        "Deprecated versions stay listed and served, and their pages show a warning.",
        "Deprecated",
    ),
    "yank": Action(
        YANK,
        "Yank",
        "Yanked versions are no longer listed. Clients list versions before they download: people who pinned or "
        "locked one get an error at the next init.",
        "Yanked",
        affects_people=True,
    ),
    "quarantine": Action(
        QUARANTINE,
        "Quarantine",
        "These versions are no longer served, and neither are others with the same bytes. You can lift a quarantine.",
        "Quarantined",
        affects_people=True,
        affects_bytes=True,
    ),
    "restore": Action(
        RESTORE,
        "Restore",
        "Lifts the quarantine if there is one; otherwise ends a yank or a deprecation.",
        "Restored",
    ),
}


@dataclass(slots=True)
class Row:
    release: Release
    address: Any
    obstacle: Conflict | None
    affected: impact.Affected | None = None
    callers: Sequence[Any] | None = None
    elsewhere: Sequence[Any] = ()


@require_http_methods(["GET", "HEAD", "POST"])
def several_lifecycle(request: HttpRequest, *, act: str, releases: str) -> HttpResponse:
    viewer, action = session_viewer(request), SEVERAL.get(act)
    if not operators.is_operator(viewer):
        raise RoleRequired("Only staff can do this.", hint="Ask one of them.")
    chosen = _releases(releases)
    if action is not None and chosen:
        operators.require_permission(viewer, chosen[0].namespace, action.permission)
    else:
        raise NotFound("There are no such versions.", hint="Select them in the admin again.")
    back = local_path(request.GET.get("next", "")) or reverse("portal:home")
    form = FORMS[act](request.POST if request.method == "POST" else None, auto_id=f"{act}_%s")
    if request.method == "POST" and form.is_valid():
        if act != "deprecate":
            count = f"{len(chosen)} version{'' if len(chosen) == 1 else 's'}"
            reauthentication.require(request, f"{action.verb} {count}: {', '.join(map(str, chosen[:MAX_NAMED]))}")
        _carry_out(request, viewer, act, chosen, form.cleaned_data)
        return HttpResponseRedirect(back, status=HTTPStatus.SEE_OTHER)
    rows = [Row(one, ACTIONS[one.kind].address_of(one), verbs.obstacle_to(act, one)) for one in chosen]
    for row in rows[:MAX_DESCRIBED]:
        if action.affects_people:
            row.affected = impact.affected_by(row.release)
            row.callers = ACTIONS[row.release.kind].callers_of(viewer, row.release)
        if action.affects_bytes:
            row.elsewhere = impact.same_bytes_elsewhere(row.release)
    context: dict[str, Any] = {"action": action, "form": form, "rows": rows, "back": back, "days": impact.DAYS}
    context["most"] = MAX_DESCRIBED if action.affects_people and len(rows) > MAX_DESCRIBED else 0
    context["can_count"] = sum(row.obstacle is None for row in rows)
    context["tells_callers"] = any(row.callers is not None for row in rows)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "portal/lifecycle/several.html", context, status=status)


def _releases(keys: str) -> list[Release]:
    """By their primary keys, as the admin selects them; other text is ignored."""
    known = [int(key) for key in keys.split(",")[:MAX_RELEASES] if _KEY.fullmatch(key)]
    rows = Release.objects.filter(pk__in=known, state__in=[State.PUBLISHED, State.PURGED])
    return list(rows.select_related("namespace", "lifecycle_by", "quarantined_by").order_by("pk"))


def _carry_out(request: HttpRequest, viewer: Viewer, act: str, releases: list[Release], told: dict[str, str]) -> None:
    """Each by its own verb and transaction; those that cannot are named with the reason."""
    refused = []
    for release in releases:
        actions = ACTIONS[release.kind]
        try:
            getattr(actions, act)(viewer=viewer, address=actions.address_of(release), version=release.version, **told)
        except RegistryError as refusal:
            refused.append(f"{release}: {sentence(refusal)}")
    for words in refused[:MAX_REFUSALS_SHOWN]:
        messages.error(request, words)
    if len(refused) > MAX_REFUSALS_SHOWN:
        messages.error(request, f"{len(refused) - MAX_REFUSALS_SHOWN} more were rejected.")
    if len(refused) < len(releases):
        messages.success(request, f"{SEVERAL[act].done}: {len(releases) - len(refused)}.")


urlpatterns = [path("lifecycle/<str:act>/<str:releases>", several_lifecycle, name="lifecycle-several")]
