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
from apps.accounts.models import Role
from apps.lib.errors import NotFound
from apps.modules import lifecycle as module_lifecycle
from apps.modules.dependents.impact import of_releases
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import sentence
from apps.portal.frame.page_urls import local_path
from apps.portal.versions import effects
from apps.portal.versions.lifecycle import FORMS
from apps.providers import lifecycle as provider_lifecycle
from apps.releases.lifecycle import several, verbs
from apps.releases.lifecycle.actions import DEPRECATE, QUARANTINE, RESTORE, YANK, VersionActions
from apps.releases.lifecycle.impact import Act
from apps.releases.lifecycle.several import Target
from apps.releases.models import Kind, Release, State

_KEY = re.compile(r"[0-9]{1,18}")
MAX_NAMED = 5
# Nobody reads more messages than that.
MAX_REFUSALS_SHOWN = 10
ACTIONS: dict[str, VersionActions[Any]] = {
    Kind.MODULE: module_lifecycle.ACTIONS,
    Kind.PROVIDER: provider_lifecycle.ACTIONS,
}


@dataclass(frozen=True, slots=True)
class Action:
    """`weighed`: the act whose consequences the page shows above the button."""

    permission: str
    verb: str
    lead: str
    done: str
    weighed: Act | None = None

    @property
    def is_danger(self) -> bool:
        return self.weighed is not None and not self.weighed.is_safe


SEVERAL = {
    "deprecate": Action(
        DEPRECATE,
        "Deprecate",
        "Deprecated versions stay listed and served, and their pages show a warning.",
        "Deprecated",
        Act.DEPRECATE,
    ),
    "yank": Action(
        YANK,
        "Yank",
        "Yanked versions are no longer listed. Clients list versions before they download: people who pinned or "
        "locked one get an error at the next init.",
        "Yanked",
        Act.YANK,
    ),
    "quarantine": Action(
        QUARANTINE,
        "Quarantine",
        "These versions are no longer served, and neither are others with the same bytes. You can restore them.",
        "Quarantined",
        Act.QUARANTINE,
    ),
    "restore": Action(
        RESTORE,
        "Restore",
        "Ends the quarantine if there is one; otherwise a yank or a deprecation.",
        "Restored",
    ),
}


@require_http_methods(["GET", "HEAD", "POST"])
def several_lifecycle(request: HttpRequest, *, act: str, releases: str) -> HttpResponse:
    viewer, action = session_viewer(request), SEVERAL.get(act)
    if not operators.is_operator(viewer):
        raise operators.for_operators(viewer)
    chosen = _releases(releases)
    if action is not None and chosen:
        operators.require_permission(viewer, chosen[0].namespace, action.permission)
    else:
        raise NotFound("There are no such versions.", hint="Select them in Operate again.")
    back = local_path(request.GET.get("next", "")) or reverse("portal:home")
    form = FORMS[act](request.POST if request.method == "POST" else None, auto_id=f"{act}_%s")
    if request.method == "POST" and form.is_valid():
        if act != "deprecate":
            count = f"{len(chosen)} version{'' if len(chosen) == 1 else 's'}"
            reauthentication.require(request, f"{action.verb} {count}: {', '.join(map(str, chosen[:MAX_NAMED]))}")
        _carry_out(request, viewer, act, chosen, form.cleaned_data)
        return HttpResponseRedirect(back, status=HTTPStatus.SEE_OTHER)
    rows = [(one, ACTIONS[one.kind].address_of(one), verbs.obstacle_to(act, one)) for one in chosen]
    possible = [one for one, _, obstacle in rows if obstacle is None]
    context: dict[str, Any] = {"action": action, "act": act, "form": form, "rows": rows, "back": back}
    context["can_count"] = len(possible)
    if action.weighed is not None and possible:
        # Staff with the permission act as owners do.
        found = of_releases(viewer, possible, action.weighed, role=Role.OWNER)
        card = effects.card_of(viewer, found, possible[0].namespace) if _may_notify(possible) else {"effects": found}
        context |= card
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "portal/lifecycle/several.html", context, status=status)


def _releases(keys: str) -> list[Release]:
    """By their primary keys, as the admin selects them; other text is ignored."""
    known = [int(key) for key in keys.split(",")[: several.MAX_VERSIONS] if _KEY.fullmatch(key)]
    rows = Release.objects.filter(pk__in=known, state__in=[State.PUBLISHED, State.PURGED])
    return list(rows.select_related("namespace", "lifecycle_by", "quarantined_by").order_by("pk"))


def _carry_out(request: HttpRequest, viewer: Viewer, act: str, releases: list[Release], told: dict[str, Any]) -> None:
    """Those that cannot are named with the reason."""
    weighed, people_of = SEVERAL[act].weighed, None
    targets = {_target(one): one for one in releases}
    if told.pop("notify", False) and weighed is not None and _may_notify(releases):

        def people_of(target: Target) -> list[int]:
            found = of_releases(viewer, [targets[target]], weighed, role=Role.OWNER)
            return effects.people_of(viewer, {"notify": True}, found, targets[target].namespace)

    done, refused = several.carry_out(act, list(targets), viewer=viewer, people_of=people_of, **told)
    for one in refused[:MAX_REFUSALS_SHOWN]:
        messages.error(request, f"{targets[one.target]}: {sentence(one.error)}")
    if len(refused) > MAX_REFUSALS_SHOWN:
        messages.error(request, f"{len(refused) - MAX_REFUSALS_SHOWN} more were rejected.")
    if done:
        messages.success(request, f"{SEVERAL[act].done}: {len(done)}.")


def _target(release: Release) -> Target:
    actions = ACTIONS[release.kind]
    return Target(actions, actions.address_of(release), release.version)


def _may_notify(releases: Sequence[Release]) -> bool:
    return several.may_notify(one.namespace.name for one in releases)


urlpatterns = [path("lifecycle/<str:act>/<str:releases>", several_lifecycle, name="lifecycle-several")]
