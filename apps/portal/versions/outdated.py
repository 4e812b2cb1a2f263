"""/modules/<address>/outdated and /providers/<address>/outdated: who is still on deprecated or yanked versions.

For owners: it names teams and service accounts.
"""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.views.decorators.http import require_safe

from apps.accounts.access.gate import visible_teams
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import Role
from apps.modules.dependents import users
from apps.portal.frame.paging import page_of
from apps.portal.versions.downloads import CLIENTS, PERIODS, TEAMS, counts_of, days_in
from apps.portal.versions.pages import VersionPages
from apps.releases.catalogue import download_figures as figures
from apps.releases.models import Lifecycle

PAGE = 50


@login_not_required
@require_safe
def outdated_users(request: HttpRequest, *, pages: VersionPages, **names: str) -> HttpResponse:
    viewer = session_viewer(request)
    parent, _ = pages.parent_and_role(viewer, pages.address_type(**names), need=Role.OWNER)
    address, days = parent.address, days_in(request)
    offered = users.offered(pages.kind, parent.namespace_id, address.path_name)
    all_counts, all_teams = counts_of(parent, None)
    counts, team_counts = figures.discouraged(all_counts), figures.discouraged(all_teams)
    found = users.outdated_among(users.of(viewer, address), offered)
    context: dict[str, Any] = {"address": address, "periods": PERIODS, "period": len(days)}
    context["discouraged"] = sum(one.lifecycle != Lifecycle.MAINTAINED for one in offered)
    context["page"] = page_of(found, request, size=PAGE)
    context["versions"] = figures.by_version(counts, days)
    context["clients"] = figures.by_client(counts, days)[:CLIENTS]
    context["teams"] = figures.by_team(team_counts, days, visible_teams(viewer))[:TEAMS]
    return render(request, "portal/version/outdated.html", context)


def route(pages: VersionPages) -> URLPattern:
    """List it before those of one version."""
    return path(f"{pages.path}/outdated", outdated_users, {"pages": pages}, name=f"{pages.kind}-outdated")
