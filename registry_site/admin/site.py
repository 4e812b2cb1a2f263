"""Operate (D19): Django's admin in the portal's frame, with allauth's sign-in and an overview."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from allauth.account.decorators import secure_admin_login
from django.contrib.admin import AdminSite
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.db.models.base import ModelBase
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts.access import gate
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import ApiToken, Grant, GroupMapping, Invitation, Namespace, Role, Team, User
from apps.admin_base import export_csv
from apps.admin_base.acts import PARAMETER
from apps.artifacts.models import Collection, Manifest, Repository, Tag, UploadSession
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.audit.reading import name_subjects, with_actors
from apps.blobs.care import runs
from apps.blobs.models import Blob, Run
from apps.jobs.models import Job
from apps.modules.models import Module, ModuleVersion
from apps.portal.frame import reauthentication
from apps.portal.publish import module, provider
from apps.portal.publish.frame import PageFrame
from apps.provenance.models import Attestation, Statement
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.cleanup_rules import CleanupRule
from apps.releases.models import DownloadCount, Release, SearchDoc
from apps.room import rooms
from apps.signing.models import SigningKey, StatementKey
from registry_site.admin import needs, setup, storage, trends
from registry_site.admin.tiles import TILES, shown

EVENTS_SHOWN = 8
# The lists and pages that have a tab, by their models; "ranking" is the page of what is stored.
TABS = (("Releases", "Release"), ("People", "User"), ("Jobs", "Job"), ("Audit", "AuditEvent"), ("Storage", "ranking"))
# The lists by what operators do. A list without a place here is not in the navigation.
NAVIGATION: tuple[tuple[str, tuple[type[Model], ...]], ...] = (
    ("Releases", (Release, DownloadCount, Statement, Attestation, CleanupRule)),
    ("Modules and providers", (Module, ModuleVersion, Provider, ProviderVersion, Package, SearchDoc)),
    ("People and access", (User, Team, Namespace, Grant, ApiToken, Invitation, GroupMapping)),
    *((title, tuple(map(one.get_model, names))) for one in rooms() for title, names in [one.admin_lists] if names),
    ("Keys", (SigningKey, StatementKey)),
    ("Storage", (Blob, Repository, Manifest, Tag, UploadSession, Collection)),
    ("Work", (Job,)),
    ("Audit", (AuditEvent,)),
)
# POSTs that change nothing, or that need no proof in the portal either.
_UNCONFIRMED = ("logout", "upload-release", "upload-provider")
# The apps without people, roles and keys: a confirmation lasts longer there.
_LASTING = ("modules", "providers", "releases", "jobs", "blobs", "notify")


class LarderAdminSite(AdminSite):
    site_title = site_header = index_title = "Operate"
    enable_nav_sidebar = False  # tabs lead to the overview, to the lists that are opened every day, and to all lists

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self.disable_action("delete_selected")  # it bypasses the verbs, and reports success even if one refuses
        self.add_action(export_csv, "export_csv")

    def get_urls(self) -> list[Any]:
        own = [
            path("upload/", self.admin_view(self.upload), name="upload-release"),
            path("upload/provider/", self.admin_view(self.upload_provider), name="upload-provider"),
            path("data/", self.admin_view(self.data_page), name="data"),
            path("setup/", self.admin_view(self.setup_page), name="setup"),
            path("storage/", self.admin_view(self.storage_page), name="storage"),
        ]
        return [*own, *super().get_urls()]

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:  # noqa: FBT001, FBT002  # Django's own
        """Require a recent proof for each change, by whatever form or action."""

        @wraps(view)
        def confirmed(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            match = request.resolver_match
            asks = request.method == "POST" and (
                request.POST.get("action") != export_csv.__name__ or PARAMETER in request.POST
            )
            if asks and match is not None and match.url_name not in _UNCONFIRMED:
                lasting = tuple(f"{reverse('admin:index')}{app}/" for app in _LASTING)
                is_fresh = not request.path.startswith(lasting)
                reauthentication.require(request, "Save the change in Operate", fresh=is_fresh)
            return view(request, *args, **kwargs)

        return super().admin_view(confirmed, cacheable)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context = super().each_context(request)
        listed = {
            one["object_name"]: one["admin_url"] for group in context["available_apps"] for one in group["models"]
        }
        return context | {"may_upload": self.may_upload(request), "tabs": self._tabs(request, listed)}

    def _tabs(self, request: HttpRequest, listed: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the pages that the viewer may open. A list without a tab of its own is below Data."""
        pages = [("Overview", reverse("admin:index"))]
        pages += [(title, listed[name]) for title, name in TABS if name in listed]
        if self._may_view(request, User):
            pages.append(("Setup", reverse("admin:setup")))
        pages.append(("Data", reverse("admin:data")))
        # The overview is above all others, and Data stands for every list.
        within = [url for _, url in pages[1:] if request.path.startswith(url)] or [pages[-1][1]]
        resolved = request.resolver_match
        if resolved is not None and resolved.url_name in ("index", "upload-release", "upload-provider"):
            within = [request.path]
        current = within[0]
        return [{"title": title, "url": url, "is_current": url == current} for title, url in pages]

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:  # noqa: ARG002  # Django's
        lists = {one["model"]: one for app in self._build_app_dict(request).values() for one in app["models"]}
        groups = [(name, [lists[model] for model in models if model in lists]) for name, models in NAVIGATION]
        if Release in lists:
            page = {"name": "Storage in use", "object_name": "ranking", "admin_url": reverse("admin:storage")}
            dict(groups)["Storage"].insert(0, page)
        return [{"name": name, "app_label": slugify(name), "models": models} for name, models in groups if models]

    def app_index(self, _request: HttpRequest, **_: Any) -> HttpResponse:  # type: ignore[override]  # the stubs promise a template
        """Lead links to a Python package's page to the page of all lists."""
        return HttpResponseRedirect(reverse("admin:data"))

    @method_decorator(require_safe)
    def data_page(self, request: HttpRequest) -> HttpResponse:
        context = self.each_context(request)
        return TemplateResponse(request, "admin/data.html", context | {"title": "Data"})

    def upload(self, request: HttpRequest) -> HttpResponse:
        """Show the portal's publish form inside the admin (D19)."""
        frame = {**self.each_context(request), "title": "Upload release"}
        return module.publish(request, PageFrame("admin/upload.html", frame))

    def upload_provider(self, request: HttpRequest) -> HttpResponse:
        """Show the portal's provider draft inside the admin."""
        frame = {**self.each_context(request), "title": "Upload provider release"}
        around = PageFrame("admin/upload_provider.html", frame)
        return provider.provider_publish(request, around)

    @method_decorator(require_safe)
    def setup_page(self, request: HttpRequest) -> HttpResponse:
        if not self._may_view(request, User):
            raise PermissionDenied
        context = {**self.each_context(request), "title": "Setup", "steps": setup.steps()}
        return TemplateResponse(request, "admin/setup.html", context)

    @method_decorator(require_safe)
    def storage_page(self, request: HttpRequest) -> HttpResponse:
        if not self._may_view(request, Release):
            raise PermissionDenied
        context = {**self.each_context(request), "title": "Storage in use"}
        context |= {"total": storage.total(), "tables": storage.ranking()}
        return TemplateResponse(request, "admin/storage.html", context)

    def register(
        self,
        model_or_iterable: type[Model] | Iterable[type[Model]],
        admin_class: Any = None,
        **options: Any,
    ) -> None:
        """Register only Larder's models: others could be edited without verbs and audit."""
        models = [model_or_iterable] if isinstance(model_or_iterable, ModelBase) else list(model_or_iterable)
        own = [model for model in models if model.__module__.startswith("apps.")]
        super().register(own, admin_class, **options)

    @method_decorator([never_cache, login_not_required, secure_admin_login])
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Use allauth's sign-in; 403 for people who are signed in and no operators."""
        return super().login(request, extra_context)

    def password_change(self, _request: HttpRequest, _extra_context: dict[str, Any] | None = None) -> HttpResponse:  # type: ignore[override]  # the stubs promise a template
        return HttpResponseRedirect(reverse("account_change_password"))

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        overview: dict[str, Any] = {"needs": needs.lines(request)}
        tiles = {title: [tile for tile in some if self._may_view(request, tile.model)] for title, some in TILES.items()}
        overview["groups"] = shown(tiles)
        charts = ((DownloadCount, trends.downloads), (Blob, trends.storage), (Job, trends.queues))
        overview["trends"] = [chart() for model, chart in charts if self._may_view(request, model)]
        if self._may_view(request, AuditEvent):
            changes = AuditEvent.objects.exclude(kind__in=[Kind.USER_SIGNED_IN, Kind.USER_SIGN_IN_FAILED])
            overview["events"] = name_subjects(with_actors(changes.newest_first())[:EVENTS_SHOWN])
        overview["backup"] = Run.objects.filter(what=runs.What.BACKUP).values_list("good_at", flat=True).first()
        return super().index(request, overview | (extra_context or {}))

    def may_upload(self, request: HttpRequest) -> bool:
        viewer = session_viewer(request) if request.user.is_authenticated else gate.NOBODY
        return gate.operates(viewer) or gate.namespaces_with_role(viewer, Role.PUBLISHER).exists()

    def _may_view(self, request: HttpRequest, model: type[Model]) -> bool:
        return self.get_model_admin(model).has_view_permission(request)
