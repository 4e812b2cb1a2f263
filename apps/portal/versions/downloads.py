"""/modules/<address>/downloads and /providers/<address>/downloads: by day, version, client, team, service account.

`outdated` beside it: who is still on deprecated or yanked versions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from apps.accounts.access.gate import visible_teams
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Role
from apps.modules.dependents import configurations, users
from apps.modules.models import Module
from apps.portal.frame import charts
from apps.portal.frame.charts import Series
from apps.portal.frame.page_urls import page_of
from apps.portal.versions.pages import VersionPages
from apps.portal.versions.reports import reports_of
from apps.portal.versions.usage_frame import usage_frame
from apps.providers.models import Provider
from apps.releases.catalogue import download_figures as figures
from apps.releases.models import Kind, Lifecycle, Release

PERIODS = (30, 90)
CARD_DAYS = 30
COLOURS = 5  # the others share one
VERSIONS = 10
CLIENTS = 20
TEAMS = 50
OUTDATED_PAGE = 50


@dataclass(frozen=True, slots=True)
class Chart:
    picture: SafeString
    top: int
    days: list[date]
    series: list[Series]

    @property
    def half(self) -> int:
        return self.top // 2

    @property
    def middle(self) -> date:
        return self.days[len(self.days) // 2]

    @property
    def rows(self) -> list[tuple[date, int, list[int]]]:
        """Show the numbers as a table, newest day first."""
        columns = [list(values) for values in zip(*(one.values for one in self.series), strict=True)]
        return [(day, sum(values), values) for day, values in zip(self.days, columns, strict=True)][::-1]


@login_not_required
@require_safe
def version_downloads(request: HttpRequest, *, pages: VersionPages, **names: str) -> HttpResponse:
    viewer = session_viewer(request)
    number, days = request.GET.get("version", ""), days_in(request)
    parent, role = pages.parent_and_role(viewer, pages.address_type(**names))
    context = usage_frame(pages, viewer, parent, role, part="downloads", number=number)
    release: Release | None = context["release"] if number else None
    counts, team_counts = counts_of(parent, release)
    context |= {"totals": figures.totals(counts, days[-1]), "periods": PERIODS, "period": len(days)}
    context |= {"only": release, "by_version": [] if release else figures.by_version(counts, days)}
    context["clients"] = figures.by_client(counts, days)
    if context["is_owner"]:
        context |= {"teams": figures.by_team(team_counts, days, visible_teams(viewer))}
        of_page = releases_of(parent) if release is None else Release.objects.filter(pk=release.pk)
        context["teamless"] = figures.teamless(of_page, days)
    by = request.GET.get("by", "")
    # How the bars may be split: where there is more than one piece, or a team, which is never all.
    found = [("version", "By version")] if len(context["by_version"]) > 1 else []
    found += [("client", "By client")] if len(context["clients"]) > 1 else []
    found += [("team", "By team")] if context.get("teams") else []
    context["splits"] = [("", "Total"), *found]
    context["by"] = by if by in dict(context["splits"]) else ""
    context["chart"] = _chart(counts, team_counts, days, context)
    # Sum up the end of long tables in one row.
    versions, clients, teams = context["by_version"], context["clients"], context.get("teams", [])
    in_period = sum(count for _, count in clients)
    shown: dict[str, Any] = {"by_version": versions[:VERSIONS], "in_period": in_period}
    shown["clients"] = [{"client": client, "count": count} for client, count in clients[:CLIENTS]]
    shown["more_versions"] = in_period - sum(one.count for one in versions[:VERSIONS]) if versions else 0
    shown["more_clients"] = sum(count for _, count in clients[CLIENTS:])
    shown |= {"teams": teams[:TEAMS], "more_teams": sum(one.count for one in teams[TEAMS:])}
    return render(request, "portal/version/downloads.html", context | shown)


@login_not_required
@require_safe
def outdated_users(request: HttpRequest, *, pages: VersionPages, **names: str) -> HttpResponse:
    """Show who is still on deprecated or yanked versions. For owners: it names teams and service accounts."""
    viewer = session_viewer(request)
    parent, role = pages.parent_and_role(viewer, pages.address_type(**names), need=Role.OWNER)
    address, days = parent.address, days_in(request)
    offered = users.offered(pages.kind, parent.namespace_id, address.path_name)
    all_counts, all_teams = counts_of(parent, None)
    counts, team_counts = figures.discouraged(all_counts), figures.discouraged(all_teams)
    found = users.outdated_among(users.of(viewer, address), offered)
    context = usage_frame(pages, viewer, parent, role, part="outdated") | {"periods": PERIODS, "period": len(days)}
    context["discouraged"] = sum(one.lifecycle != Lifecycle.MAINTAINED for one in offered)
    context["page"] = page_of(found, request, size=OUTDATED_PAGE)
    reported = configurations.uses_of(pages.kind, parent.namespace_id, address.path_name)
    context["reports"] = reports_of(viewer, reported.exclude(release__lifecycle=Lifecycle.MAINTAINED))
    context["by_version"] = figures.by_version(counts, days)
    context["clients"] = figures.by_client(counts, days)[:CLIENTS]
    context["teams"] = figures.by_team(team_counts, days, visible_teams(viewer))[:TEAMS]
    context["teamless"] = figures.teamless(releases_of(parent).exclude(lifecycle=Lifecycle.MAINTAINED), days)
    return render(request, "portal/version/outdated.html", context)


def releases_of(parent: Module | Provider) -> QuerySet[Release]:
    kind = Kind.MODULE if isinstance(parent, Module) else Kind.PROVIDER
    return Release.objects.filter(kind=kind, namespace=parent.namespace_id, name=parent.address.path_name)


def counts_of(parent: Module | Provider, release: Release | None) -> tuple[figures.Counts, figures.TeamCounts]:
    """Of one version, or of all."""
    if release is not None:
        return figures.counts_of_release(release), figures.teams_of_release(release)
    kind = Kind.MODULE if isinstance(parent, Module) else Kind.PROVIDER
    named: dict[str, Any] = {"kind": kind, "namespace": parent.namespace, "name": parent.address.path_name}
    return figures.counts_of_name(**named), figures.teams_of_name(**named)


def downloads_card(subject: Module | Provider | Release) -> dict[str, Any]:
    """For portal/version/downloads_card.html: two queries, of one version or of all."""
    days = figures.last_days(timezone.now().date(), CARD_DAYS)
    if isinstance(subject, Release):
        counts, total = figures.counts_of_release(subject), None
        kind, path_name = subject.kind, subject.name
    else:
        kind = Kind.MODULE if isinstance(subject, Module) else Kind.PROVIDER
        path_name = subject.address.path_name
        counts = figures.counts_of_name(kind=kind, namespace=subject.namespace, name=path_name)
        total = figures.downloads_of_name(kind=kind, namespace=subject.namespace, name=path_name)
    values = figures.by_day(counts, days)
    url = reverse(f"portal:{kind}-downloads", args=[subject.namespace.name, *path_name.split("/")])
    return {
        "kind": kind,
        "total": figures.ever(counts) if total is None else total,
        "recent": sum(values),
        "picture": charts.sparkline(values, title=f"Downloads by day in the last {CARD_DAYS} days: {sum(values):,}"),
        "version": subject.version if isinstance(subject, Release) else "",
        "url": f"{url}?version={subject.version}".replace("+", "%2B") if isinstance(subject, Release) else url,
    }


def days_in(request: HttpRequest) -> list[date]:
    period = request.GET.get("days", "")
    number = int(period) if period in map(str, PERIODS) else PERIODS[0]
    return figures.last_days(timezone.now().date(), number)


def _chart(counts: figures.Counts, team_counts: figures.TeamCounts, days: list[date], context: dict[str, Any]) -> Chart:
    """All downloads in one colour; or the most frequent in one each, and the rest."""
    totals, by = figures.by_day(counts, days), context["by"]
    if by == "version":
        top = context["by_version"][:COLOURS]
        keys = figures.days_of(counts, ["release_id"], [one.release_id for one in top], days)
        series = _series([one.version for one in top], keys.values(), totals)
    elif by == "client":
        names = [client for client, _ in context["clients"][:COLOURS]]
        series = _series(names, figures.days_of(counts, ["client"], names, days).values(), totals)
    elif by == "team":
        teams = context["teams"][:COLOURS]
        keys = figures.days_of(
            team_counts, ["team_id", "account_id"], [(one.team_id, one.account_id) for one in teams], days
        )
        series = _series([one.name for one in teams], keys.values(), None)
    else:
        series = [Series("Downloads", totals)]
    title = f"Downloads by day from {days[0]:%-d %b %Y} to {days[-1]:%-d %b %Y}: {sum(totals):,}"
    labels = [f"{day:%-d %b %Y}" for day in days]
    top_of_scale = charts.ceiling(charts.highest(series))
    return Chart(charts.bars(labels, series, title=title), top_of_scale, days, series)


def _series(names: Sequence[str], values: Any, totals: list[int] | None) -> list[Series]:
    """With `totals` also the rest; teams have none, because a person may be in two."""
    named = [Series(name, found, str(at)) for at, (name, found) in enumerate(zip(names, values, strict=True), 1)]
    if totals is None:
        return named
    rest = [whole - sum(one.values[at] for one in named) for at, whole in enumerate(totals)]
    return [*named, Series("others", rest, "other")] if any(rest) else named
