"""/modules/<namespace>/<name>/<system>/downloads: a module's downloads by day, version and client."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from apps.accounts.identity.authentication import session_viewer
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import NotFound
from apps.modules.catalogue.reading import module_for, version_for
from apps.modules.models import Module
from apps.portal.frame import charts
from apps.portal.frame.charts import Series
from apps.releases.catalogue import download_figures as figures
from apps.releases.models import Kind, Release

PERIODS = (30, 90)
CARD_DAYS = 30
COLOURS = 5  # the other versions share one
VERSIONS = 10
CLIENTS = 20


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
def module_downloads(request: HttpRequest, namespace: str, name: str, system: str) -> HttpResponse:
    viewer, address = session_viewer(request), ModuleAddress(namespace, name, system)
    number, days = request.GET.get("version", ""), _days(request.GET.get("days", ""))
    if number:
        release = version_for(viewer, address, number).release
        namespace_row, counts = release.namespace, figures.counts_of_release(release)
    else:
        module, release = module_for(viewer, address), None
        if not module.versions.published().exists():
            raise NotFound(f"{address} has no published version.")
        namespace_row = module.namespace
        counts = figures.counts_of_name(kind=Kind.MODULE, namespace=namespace_row, name=address.path_name)
    context: dict[str, Any] = {"address": address, "namespace": namespace_row, "release": release}
    context |= {"totals": figures.totals(counts, days[-1]), "periods": PERIODS, "period": len(days)}
    context["versions"] = [] if release else figures.by_version(counts, days)
    context["is_split"] = request.GET.get("by") == "version" and len(context["versions"]) > 1
    context["chart"] = _chart(counts, days, context["versions"] if context["is_split"] else [])
    context["clients"] = figures.by_client(counts, days)
    return render(request, "portal/module/downloads.html", context | _shortened(context))


def downloads_card(subject: Module | Release) -> dict[str, Any]:
    """For portal/module/downloads_card.html: two queries, of one version or of the whole module."""
    days = figures.last_days(timezone.now().date(), CARD_DAYS)
    if isinstance(subject, Release):
        counts, total = figures.counts_of_release(subject), None
        namespace, path_name = subject.namespace, subject.name
    else:
        namespace, path_name = subject.namespace, subject.address.path_name
        counts = figures.counts_of_name(kind=Kind.MODULE, namespace=namespace, name=path_name)
        total = figures.downloads_of_name(kind=Kind.MODULE, namespace=namespace, name=path_name)
    values = figures.by_day(counts, days)
    url = reverse("portal:module-downloads", args=[namespace.name, *path_name.split("/")])
    return {
        "total": figures.ever(counts) if total is None else total,
        "recent": sum(values),
        "picture": charts.sparkline(values, title=f"Downloads by day in the last {CARD_DAYS} days: {sum(values):,}"),
        "version": subject.version if isinstance(subject, Release) else "",
        "url": f"{url}?version={subject.version}".replace("+", "%2B") if isinstance(subject, Release) else url,
    }


def _days(period: str) -> list[date]:
    number = int(period) if period in map(str, PERIODS) else PERIODS[0]
    return figures.last_days(timezone.now().date(), number)


def _chart(counts: figures.Counts, days: list[date], versions: list[figures.VersionTotal]) -> Chart:
    """All downloads in one colour; or the most downloaded versions in one each, and the rest."""
    totals = figures.by_day(counts, days)
    series = [Series("Downloads", totals)]
    if versions:
        split = figures.days_of_versions(counts, [one.release_id for one in versions[:COLOURS]], days)
        named = [Series(one.version, split[one.release_id], str(at)) for at, one in enumerate(versions[:COLOURS], 1)]
        rest = [whole - sum(parts) for whole, *parts in zip(totals, *split.values(), strict=True)]
        series = [*named, Series("other", rest, "other")] if any(rest) else named
    title = f"Downloads by day from {days[0]:%-d %b %Y} to {days[-1]:%-d %b %Y}: {sum(totals):,}"
    labels = [f"{day:%-d %b %Y}" for day in days]
    top = charts.ceiling(charts.highest(series))
    return Chart(charts.bars(labels, series, title=title), top, days, series)


def _shortened(context: dict[str, Any]) -> dict[str, Any]:
    """Sum up the end of long tables in one row."""
    versions, clients = context["versions"], context["clients"]
    in_period = sum(count for _, count in clients)
    shown = {"versions": versions[:VERSIONS], "clients": clients[:CLIENTS], "in_period": in_period}
    shown["more_versions"] = in_period - sum(one.count for one in versions[:VERSIONS]) if versions else 0
    shown["more_clients"] = sum(count for _, count in clients[CLIENTS:])
    return shown


urlpatterns = [
    # Before /modules/…/<version>; versions begin with a digit.
    path(
        "modules/<str:namespace>/<str:name>/<str:system>/downloads",
        module_downloads,
        name="module-downloads",
    ),
]
