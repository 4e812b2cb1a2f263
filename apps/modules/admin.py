"""Admin pages for modules and their versions."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Concat
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from apps.accounts.admin.actors import actor_of
from apps.accounts.admin.filters import in_namespace
from apps.admin_base import (
    Act,
    Column,
    badge,
    count_of,
    digest_prefix,
    is_key,
    one_of,
    row_link,
    short,
    size,
)
from apps.admin_base.base import address_condition
from apps.modules import reinspection
from apps.modules.lifecycle import ACTIONS
from apps.modules.models import Module, ModuleCall, ModuleVersion
from apps.releases.admin import standing_badge, stored_now
from apps.releases.admin_acts import first_of
from apps.releases.admin_versions import (
    RELEASE_AND_PEOPLE,
    NamedAdmin,
    PublisherFilter,
    QuarantineFilter,
    VerifiedFilter,
    VersionAdmin,
)
from apps.releases.models import Kind, SearchDoc

FILES_SHOWN = 200


OutdatedFilter = one_of(
    "inspection",
    "inspection",
    {
        "outdated": (
            "By an older version",
            lambda rows: rows.filter(pk__in=reinspection.outdated().values("pk")),
        )
    },
)


class CallInline(admin.TabularInline[ModuleCall, ModuleVersion]):
    model = ModuleCall
    verbose_name_plural = "calls of other modules"
    fields = readonly_fields = ("unit", "name", "source", "constraint")
    ordering = ("unit", "name", "pk")
    can_delete = False
    extra = 0

    def has_add_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def has_change_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False


def reinspect(admin: VersionAdmin, request: HttpRequest, queryset: QuerySet[ModuleVersion]) -> None:
    chosen = ModuleVersion.objects.filter(pk__in=first_of(admin, request, queryset))
    queued = reinspection.request(chosen, actor_id=actor_of(request).user_id)
    jobs = reverse("admin:jobs_job_changelist", query={"q": reinspection.JOB})
    admin.message_user(request, format_html('Queued: {}. <a href="{}">See the jobs</a>', queued, jobs))


@admin.register(ModuleVersion)
class ModuleVersionAdmin(VersionAdmin):
    lifecycle = ACTIONS
    change_list_template = "admin/artefacts.html"
    list_display = ("title", "standing", "page", "by", "published", "size", "sha256")
    list_filter = (
        "release__lifecycle",
        QuarantineFilter,
        in_namespace("module__namespace"),
        PublisherFilter,
        ("release__published_at", admin.DateFieldListFilter),
        "is_prerelease",
        VerifiedFilter,
        OutdatedFilter,
    )
    list_select_related = ("module__namespace", *RELEASE_AND_PEOPLE)
    search_help_text = "An address (acme/vpc/aws), a version, or the beginning of a stored or uploaded sha256."
    fields = (
        ("title", "standing", "is_prerelease"),
        ("release_page", "module_page", "published", "by"),
        ("why", "instead"),
        ("digest", "size", "in_storage"),
        "verified",
        ("uploaded_digest", "uploaded_size"),
        ("inspector", "readme_renderer", "units"),
        "file_list",
    )
    inlines = (CallInline,)
    acts = {
        **VersionAdmin.acts,
        "reinspect": Act(
            "Inspect selected versions again", "modules.reinspect_moduleversion", reinspect, button="Inspect again"
        ),
    }
    csv_columns = (
        "module__namespace__name",
        "module__name",
        "module__system",
        "release__version",
        "is_prerelease",
        "release__lifecycle",
        "release__lifecycle_reason",
        "release__lifecycle_replacement",
        "release__quarantined_at",
        "release__digest",
        "release__size",
        "release__created_by__username",
        "release__published_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[ModuleVersion]:
        rows = super().get_queryset(request)
        resolved = request.resolver_match
        is_list = resolved is not None and (resolved.url_name or "").endswith("_changelist")
        rows = rows.defer("readme_html", "readmes")
        return rows.defer("inspection", "files") if is_list else rows

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> ModuleVersion | None:
        rows = self.get_queryset(request).select_related(*self.list_select_related)
        return rows.filter(pk=object_id).first() if is_key(self.opts.pk, object_id) and not from_field else None

    def search_condition(self, word: str) -> Q:
        if by_address := address_condition(word, "release__namespace__name", "release__name"):
            return by_address
        digest = digest_prefix(word)
        by_digest = Q(release__digest__begins=digest) | Q(release__uploaded_digest__begins=digest)
        by_name = Q(module__namespace__name=word) | Q(module__name__begins=word)
        return by_digest | by_name | Q(release__version=word)

    def view_on_site(self, row: ModuleVersion) -> str:
        module = row.module
        where = [module.namespace.name, module.name, module.system, row.release.version]
        return reverse("portal:module-version", args=where)

    # --- Display ------------------------------------------------------------------------------------------------------

    size = Column("size", lambda row: size(row.release.size), order="release__size")
    sha256 = Column("sha256", lambda row: short(row.release.digest), order="release__digest")
    digest = Column("stored sha256", "release.digest")
    in_storage = Column("in storage", lambda row: stored_now(row.release))
    uploaded_digest = Column("uploaded sha256", "release.uploaded_digest")
    uploaded_size = Column("uploaded size", lambda row: size(row.release.uploaded_size))
    module_page = Column("module", lambda row: row_link(row.module))

    @admin.display(description="units")
    def units(self, row: ModuleVersion) -> str:
        units = row.inspection.get("units", [])
        warnings = sum(len(unit["warnings"]) for unit in units)
        return f"{len(units)} read, {warnings} warnings" if units else "not inspected"

    @admin.display(description="files")
    def file_list(self, row: ModuleVersion) -> str:
        shown = format_html_join(
            "", "<li>{} ({})</li>", ((file["name"], size(file["size"])) for file in row.files[:FILES_SHOWN])
        )
        more = f"and {len(row.files) - FILES_SHOWN:,} more" if len(row.files) > FILES_SHOWN else ""
        return format_html("<ul>{}</ul>{}", shown, more)


@admin.register(Module)
class ModuleAdmin(NamedAdmin):
    change_list_template = "admin/artefacts.html"
    list_display = ("title", "latest", "versions", "downloads", "created_at", "page")
    search_help_text = "An address (acme/vpc/aws), its beginning, or one of its names."
    fields = (
        ("namespace", "name", "system"),
        "description",
        "source_url",
        ("latest", "downloads", "created_at"),
        "newest",
    )
    readonly_fields = ("latest", "downloads", "newest")
    version_columns = {
        "State": lambda row: badge(row.release.state),
        "Lifecycle": lambda row: standing_badge(row.release),
        "Size": lambda row: size(row.release.size),
    }
    csv_columns = (
        "namespace__name",
        "name",
        "system",
        "latest",
        "downloads",
        "description",
        "source_url",
        "created_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Module]:
        path_name = Concat(OuterRef("name"), Value("/"), OuterRef("system"))
        docs = SearchDoc.objects.filter(kind=Kind.MODULE, namespace=OuterRef("namespace"), name=path_name)
        columns = {"latest": Subquery(docs.values("version")), "downloads": Subquery(docs.values("downloads"))}
        versions = ModuleVersion.objects.filter(module=OuterRef("pk"))
        rows: QuerySet[Module] = super().get_queryset(request)
        return rows.annotate(version_count=count_of(versions, "module"), **columns)

    def search_condition(self, word: str) -> Q:
        namespace, _, rest = word.partition("/")
        if rest:
            name, _, system = rest.partition("/")
            by_name = Q(name=name, system__begins=system) if system else Q(name__begins=name)
            return Q(namespace__name=namespace) & by_name
        return Q(namespace__name=namespace) | Q(name__begins=word) | Q(system=word)

    def view_on_site(self, module: Module) -> str:
        return reverse("portal:module", args=[module.namespace.name, module.name, module.system])

    title = Column("module", str, order="namespace__name")
    downloads = Column("downloads", lambda module: int(module.downloads or 0), order="downloads")

    def newest_versions(self, named: Any) -> QuerySet[ModuleVersion]:
        return ModuleVersion.objects.filter(module=named).newest_first().without_texts().select_related("release")
