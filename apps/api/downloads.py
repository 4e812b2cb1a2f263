"""/api/v1/modules/…/downloads and /api/v1/providers/…/downloads: by day, version, client, team and service account."""

from typing import Any

from django.urls import path
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access.gate import visible_teams
from apps.accounts.models import Role
from apps.api.frame import contents
from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation
from apps.api.frame.paging import text_of
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Invalid
from apps.modules.catalogue import reading as modules
from apps.providers import reading as providers
from apps.releases.catalogue import download_figures as figures
from apps.releases.catalogue.reading import require_published
from apps.releases.models import Kind, Release

_PERIODS = ("30", "90")
_QUERY = {"days": "The length of the period that ends today; 30 by default.", "version": "Only of this version."}
_CHOICES = {"days": _PERIODS}


class Downloads(ApiView):
    """A download is one answered client request for the archive or a package."""

    http_method_names = ["get", "head"]

    def of(self, request: Request, kind: Kind, parent: Any, role: Role, release: Release | None) -> Response:
        text = text_of(request, "days") or _PERIODS[0]
        if text not in _PERIODS:
            raise Invalid(f"found days={text!a}, expected {' or '.join(_PERIODS)}", hint="Leave it out for 30.")
        days = figures.last_days(timezone.now().date(), int(text))
        if release is not None:
            counts, team_counts = figures.counts_of_release(release), figures.teams_of_release(release)
        else:
            named: dict[str, Any] = {"kind": kind, "namespace": parent.namespace, "name": parent.address.path_name}
            counts, team_counts = figures.counts_of_name(**named), figures.teams_of_name(**named)
        teams = None
        if self.viewer.is_identified and role.covers(Role.OWNER):
            teams = [
                {"team": one.team, "account": one.account or None, "count": one.count}
                for one in figures.by_team(team_counts, days, visible_teams(self.viewer))
            ]
        totals = figures.totals(counts, days[-1])
        versions = [] if release else figures.by_version(counts, days)
        by_day = zip(days, figures.by_day(counts, days), strict=True)
        return Response(
            {
                "totals": {"ever": totals.ever, "week": totals.week, "month": totals.month, "year": totals.year},
                "days": [{"day": day.isoformat(), "count": count} for day, count in by_day],
                "versions": [
                    {"version": one.version, "lifecycle": one.lifecycle, "count": one.count} for one in versions
                ],
                "clients": [{"client": client, "count": count} for client, count in figures.by_client(counts, days)],
                "teams": teams,
            }
        )


class ModuleDownloads(Downloads):
    @operation(
        "Count the downloads of a module",
        answers={200: contents.Downloads},
        query=_QUERY,
        choices=_CHOICES,
        public=True,
    )
    def get(self, request: Request, namespace: str, name: str, system: str) -> Response:
        module, role = modules.module_and_role(self.viewer, ModuleAddress(namespace, name, system))
        number = text_of(request, "version")
        release = modules.version_of(self.viewer, module, number).release if number else None
        if release is None:
            require_published(module)
        return self.of(request, Kind.MODULE, module, role, release)


class ProviderDownloads(Downloads):
    @operation(
        "Count the downloads of a provider",
        answers={200: contents.Downloads},
        query=_QUERY,
        choices=_CHOICES,
        public=True,
    )
    def get(self, request: Request, namespace: str, type: str) -> Response:  # noqa: A002
        provider, role = providers.provider_and_role(self.viewer, ProviderAddress(namespace, type))
        number = text_of(request, "version")
        release = providers.version_of(self.viewer, provider, number).release if number else None
        if release is None:
            require_published(provider)
        return self.of(request, Kind.PROVIDER, provider, role, release)


urlpatterns = [
    # Before those with <version> in this place.
    path(
        "modules/<segment:namespace>/<segment:name>/<segment:system>/downloads",
        ModuleDownloads.as_view(),
        name="module-downloads",
    ),
    path(
        "providers/<segment:namespace>/<segment:type>/downloads", ProviderDownloads.as_view(), name="provider-downloads"
    ),
]
