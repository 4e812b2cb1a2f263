"""/modules/<address>/usage and /providers/<address>/usage: who uses it, and which version they get."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.access.gate import visible_teams
from apps.accounts.identity.sessions import session_viewer
from apps.modules.dependents import configurations, users
from apps.modules.dependents.users import Offered, Use
from apps.portal.frame.page_urls import page_of
from apps.portal.versions.downloads import PERIODS, TEAMS, counts_of, releases_of
from apps.portal.versions.pages import VersionPages
from apps.portal.versions.reports import reports_of
from apps.portal.versions.usage_frame import usage_frame
from apps.releases.catalogue import download_figures as figures
from apps.releases.models import Lifecycle

PAGE = 50


@dataclass(frozen=True, slots=True)
class Caller:
    """`gets` is the version that clients select for it today: empty for none, None where that is unknown."""

    use: Use
    gets: str | None
    lifecycle: str


@login_not_required
@require_safe
def version_usage(request: HttpRequest, *, pages: VersionPages, **names: str) -> HttpResponse:
    viewer = session_viewer(request)
    parent, role = pages.parent_and_role(viewer, pages.address_type(**names))
    address = parent.address
    context = usage_frame(pages, viewer, parent, role, part="users")
    counts, team_counts = counts_of(parent, None)
    days = figures.last_days(timezone.now().date(), PERIODS[0])
    context |= {"totals": figures.totals(counts, days[-1])}
    context["page"] = page = page_of(users.of(viewer, address), request, size=PAGE)
    context["callers"] = _callers(
        list(page.object_list), users.offered(pages.kind, parent.namespace_id, address.path_name)
    )
    if context["is_owner"]:
        teams = figures.by_team(team_counts, days, visible_teams(viewer))
        reported = configurations.uses_of(pages.kind, parent.namespace_id, address.path_name)
        context |= {"teams": teams[:TEAMS], "more_teams": sum(one.count for one in teams[TEAMS:])}
        context["reports"] = reports_of(viewer, reported)
        context["teamless"] = figures.teamless(releases_of(parent), days)
    return render(request, "portal/version/users.html", context)


def _callers(uses: Sequence[Use], offered: Sequence[Offered]) -> list[Caller]:
    lifecycles = {one.version: one.lifecycle for one in offered}
    found: dict[tuple[str, str], str | None] = {}
    for use in uses:
        if (use.constraint, use.source) not in found:
            found[use.constraint, use.source] = users.selected(use.constraint, use.source, offered)
    return [
        Caller(use, gets, lifecycles.get(gets or "", Lifecycle.MAINTAINED))
        for use in uses
        for gets in [found[use.constraint, use.source]]
    ]
