"""The admin site (D19): Django's own admin, signed in through allauth, with the numbers operators look at first."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from allauth.account.decorators import secure_admin_login
from django.contrib.admin import AdminSite
from django.contrib.auth.decorators import login_not_required
from django.db.models import Model, QuerySet
from django.db.models.base import ModelBase
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from apps.accounts.models import Namespace, Team, User
from apps.admin_base import bounded_count, export_csv
from apps.blobs.models import Blob
from apps.jobs.models import Job
from apps.jobs.models import State as JobState
from apps.modules import reinspecting
from apps.modules.models import Module, ModuleVersion
from apps.portal import provider_publish, publish
from apps.portal.publish_frame import Surroundings
from apps.providers.models import Provider, ProviderVersion
from apps.releases.models import Release
from apps.releases.models import State as ReleaseState

JOBS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Tile:
    """One number of the dashboard and the list that it counts."""

    label: str
    model: type[Model]
    rows: Callable[[], QuerySet[Any]]
    query: str = ""
    is_alarm: bool = False

    def shown(self) -> dict[str, Any]:
        meta = self.model._meta  # noqa: SLF001  # Django's public name for it
        url = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
        count = bounded_count(self.rows())
        return {
            "label": self.label,
            "count": str(count),  # «10,000+» where nobody counted further
            "url": url + self.query,
            "is_alarm": self.is_alarm and count > 0,
        }


def _jobs(state: JobState) -> QuerySet[Job]:
    return Job.objects.filter(state=state)


# What waits for somebody comes first, then how much there is.
TILES = (
    Tile("Jobs waiting", Job, lambda: _jobs(JobState.QUEUED), f"?state__exact={JobState.QUEUED}"),
    Tile("Jobs running", Job, lambda: _jobs(JobState.RUNNING), f"?state__exact={JobState.RUNNING}"),
    Tile("Jobs failed", Job, lambda: _jobs(JobState.FAILED), f"?state__exact={JobState.FAILED}", is_alarm=True),
    Tile(
        "Releases failed",
        Release,
        lambda: Release.objects.filter(state=ReleaseState.FAILED),
        f"?state__exact={ReleaseState.FAILED}",
        is_alarm=True,
    ),
    Tile(
        "Releases held",
        Release,
        lambda: Release.objects.filter(state=ReleaseState.HELD),
        f"?state__exact={ReleaseState.HELD}",
    ),
    Tile(
        "In quarantine",
        ModuleVersion,
        lambda: ModuleVersion.objects.filter(release__quarantined_at__isnull=False),
        "?quarantined=1",
        is_alarm=True,
    ),
    Tile("Blobs missing or damaged", Blob, lambda: Blob.objects.exclude(problem=""), "?problem=any", is_alarm=True),
    Tile("Read by older rules", ModuleVersion, reinspecting.outdated, "?inspection=outdated"),
    Tile(
        "Namespaces without an active owner",
        Namespace,
        Namespace.objects.without_active_owner,
        "?leaderless=yes",
        is_alarm=True,
    ),
    Tile(
        "Teams without an active manager", Team, Team.objects.without_active_manager, "?leaderless=yes", is_alarm=True
    ),
    Tile("Namespaces", Namespace, Namespace.objects.all),
    Tile("Modules", Module, Module.objects.all),
    Tile("Module versions", ModuleVersion, ModuleVersion.objects.all),
    Tile("Providers", Provider, Provider.objects.all),
    Tile("Provider versions", ProviderVersion, ProviderVersion.objects.all),
    Tile("Teams", Team, Team.objects.all),
    Tile("People", User, lambda: User.objects.filter(is_active=True), "?is_active__exact=1"),
)


class LarderAdminSite(AdminSite):
    site_title = "Larder admin"
    site_header = "Larder admin"
    index_title = "Operations"
    site_url = "/"

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self.disable_action("delete_selected")  # it goes past the verbs, and reports success where one refuses
        self.add_action(export_csv, "export_csv")

    def get_urls(self) -> list[Any]:
        uploads = [
            path("upload/", self.admin_view(self.upload), name="upload-release"),
            path("upload/provider/", self.admin_view(self.upload_provider), name="upload-provider"),
        ]
        return [*uploads, *super().get_urls()]

    def upload(self, request: HttpRequest) -> HttpResponse:
        """The portal's form, scripts, ticket and verb in the admin's frame (D19); the release's page follows."""
        frame = {**self.each_context(request), "title": "Upload release"}
        return publish.publish(request, Surroundings("admin/upload.html", frame))

    def upload_provider(self, request: HttpRequest) -> HttpResponse:
        """The same for providers: a draft, its files, and handing in on the release's page."""
        frame = {**self.each_context(request), "title": "Upload provider release"}
        around = Surroundings("admin/upload_provider.html", frame)
        return provider_publish.provider_publish(request, around)

    def register(
        self,
        model_or_iterable: type[Model] | Iterable[type[Model]],
        admin_class: Any = None,
        **options: Any,
    ) -> None:
        """Only Larder's own tables: what a library would register could be edited past our verbs and the audit."""
        models = [model_or_iterable] if isinstance(model_or_iterable, ModelBase) else list(model_or_iterable)
        own = [model for model in models if model.__module__.startswith("apps.")]
        super().register(own, admin_class, **options)

    @method_decorator([never_cache, login_not_required, secure_admin_login])
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """allauth's sign-in; who is signed in and no operator reads 403."""
        return super().login(request, extra_context)

    def password_change(self, _request: HttpRequest, _extra_context: dict[str, Any] | None = None) -> HttpResponse:  # type: ignore[override]  # the stubs promise a template
        return HttpResponseRedirect(reverse("account_change_password"))

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        seen = [tile for tile in TILES if self._may_view(request, tile.model)]
        dashboard: dict[str, Any] = {"tiles": [tile.shown() for tile in seen]}
        if self._may_view(request, Job):
            dashboard["failed_jobs"] = _jobs(JobState.FAILED).newest_first()[:JOBS_SHOWN]  # type: ignore[attr-defined]  # the stubs forget our manager
            dashboard["waiting_longest"] = _jobs(JobState.QUEUED).order_by("created_at", "pk").first()
        return super().index(request, dashboard | (extra_context or {}))

    def _may_view(self, request: HttpRequest, model: type[Model]) -> bool:
        return self.get_model_admin(model).has_view_permission(request)
