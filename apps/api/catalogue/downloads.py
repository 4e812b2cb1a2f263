"""/api/v1/modules/…/downloads and /api/v1/providers/…/downloads: by day, version, client, team and service account."""

from typing import Any

from django.urls import path
from django.utils import timezone
from rest_framework.serializers import CharField, ChoiceField, DateField, IntegerField

from apps.accounts.access.gate import visible_teams
from apps.accounts.models import Role
from apps.api.frame.base import MODULE, PROVIDER, DetailView, shown
from apps.api.frame.shapes import Shape
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Invalid
from apps.modules.catalogue import reading as modules
from apps.providers import reading as providers
from apps.releases.catalogue import download_figures as figures
from apps.releases.catalogue.download_figures import TeamTotal
from apps.releases.catalogue.reading import require_published
from apps.releases.models import Kind, Lifecycle, Release


class DownloadTotals(Shape):
    ever = IntegerField()
    week = IntegerField(help_text="Downloads in the last 7 days.")
    month = IntegerField(help_text="Downloads in the last 30 days.")
    year = IntegerField(help_text="Downloads in the last 365 days.")


class DownloadsOfDay(Shape):
    day = DateField(help_text="Time in UTC.")
    count = IntegerField()


class DownloadsOfVersion(Shape):
    version = CharField()
    lifecycle = ChoiceField(choices=Lifecycle.values)
    count = IntegerField()


class DownloadsOfClient(Shape):
    client = CharField(help_text="For example OpenTofu 1.12.6, or other.")
    count = IntegerField()


class DownloadsOfTeam(Shape):
    team = CharField()
    account = CharField(allow_null=True, help_text="A service account of the team; null for a person.")
    count = IntegerField()

    def account_of(self, total: TeamTotal) -> str | None:
        return total.account or None


class Downloads(Shape):
    totals = DownloadTotals()
    days = DownloadsOfDay(many=True, help_text="The oldest first.")
    versions = DownloadsOfVersion(
        many=True, help_text="Versions of the period, most downloaded first. Empty for a single version."
    )
    clients = DownloadsOfClient(many=True, help_text="Downloads in the period.")
    teams = DownloadsOfTeam(
        many=True,
        allow_null=True,
        help_text="Downloads in the period, by team, for teams that the caller can see. null unless the caller is "
        "an owner.",
    )


_PERIODS = ("30", "90")
_ASKED: dict[str, Any] = {
    "query": {
        "days": "Length of the period that ends today, in days. The default is 30.",
        "version": "Only for this version.",
    },
    "choices": {"days": _PERIODS},
    "public": True,
}


class DownloadsView(DetailView):
    """A download is one answered client request for the archive or a package."""

    def figures(self, kind: Kind, parent: Any, role: Role, release: Release | None) -> dict[str, Any]:
        if release is None:
            require_published(parent)
        text = self.text("days") or _PERIODS[0]
        if text not in _PERIODS:
            raise Invalid(f"found days={text!a}, expected {' or '.join(_PERIODS)}", hint="Leave it out for 30.")
        days = figures.last_days(timezone.now().date(), int(text))
        if release is not None:
            counts, team_counts = figures.counts_of_release(release), figures.teams_of_release(release)
        else:
            named: dict[str, Any] = {"kind": kind, "namespace": parent.namespace, "name": parent.address.path_name}
            counts, team_counts = figures.counts_of_name(**named), figures.teams_of_name(**named)
        is_owner = self.viewer.is_identified and role.covers(Role.OWNER)
        by_day = zip(days, figures.by_day(counts, days), strict=True)
        return {
            "totals": figures.totals(counts, days[-1]),
            "days": [{"day": day, "count": count} for day, count in by_day],
            "versions": [] if release else figures.by_version(counts, days),
            "clients": [{"client": client, "count": count} for client, count in figures.by_client(counts, days)],
            "teams": figures.by_team(team_counts, days, visible_teams(self.viewer)) if is_owner else None,
        }


class ModuleDownloads(DownloadsView):
    get = shown("Count the downloads of a module", Downloads, **_ASKED)

    def row(self, **names: str) -> dict[str, Any]:
        module, role = modules.module_and_role(self.viewer, ModuleAddress(**names))
        number = self.text("version")
        release = modules.version_of(self.viewer, module, number).release if number else None
        return self.figures(Kind.MODULE, module, role, release)


class ProviderDownloads(DownloadsView):
    get = shown("Count the downloads of a provider", Downloads, **_ASKED)

    def row(self, **names: str) -> dict[str, Any]:
        provider, role = providers.provider_and_role(self.viewer, ProviderAddress(**names))
        number = self.text("version")
        release = providers.version_of(self.viewer, provider, number).release if number else None
        return self.figures(Kind.PROVIDER, provider, role, release)


urlpatterns = [
    # Before those with <version> in this place.
    path(f"{MODULE}/downloads", ModuleDownloads.as_view(), name="module-downloads"),
    path(f"{PROVIDER}/downloads", ProviderDownloads.as_view(), name="provider-downloads"),
]
