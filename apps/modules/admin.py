from typing import Any

from django.contrib import admin
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Concat
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from apps.admin_base import ReadOnlyAdmin, WordFilter, badge, digest_prefix, short
from apps.modules.models import Module, ModuleVersion
from apps.releases.models import Kind, SearchDoc


class NamespaceFilter(WordFilter):
    title = "namespace"
    parameter_name = "in"

    def queryset(self, _request: HttpRequest, queryset: QuerySet[ModuleVersion]) -> QuerySet[ModuleVersion]:
        return queryset.filter(module__namespace__name=self.value()) if self.value() else queryset


@admin.register(Module)
class ModuleAdmin(ReadOnlyAdmin[Module]):
    list_display = ("title", "latest", "versions", "created_at", "page")
    list_filter = ("namespace__visibility",)
    list_select_related = ("namespace",)
    ordering = ("-pk",)
    sortable_by = ()
    search_fields = ("name", "system")
    search_help_text = "An address (acme/vpc/aws), its beginning, or one of its names."
    fields = (("namespace", "name", "system"), "created_at", "all_versions")
    readonly_fields = ("all_versions",)
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Module]:
        path_name = Concat(OuterRef("name"), Value("/"), OuterRef("system"))
        docs = SearchDoc.objects.filter(kind=Kind.MODULE, namespace=OuterRef("namespace"), name=path_name)
        latest = Subquery(docs.values("version"))
        return super().get_queryset(request).annotate(latest=latest, version_count=Count("versions"))

    def find(self, word: str) -> Q:
        namespace, _, rest = word.partition("/")
        if rest:
            name, _, system = rest.partition("/")
            by_name = Q(name=name, system__startswith=system) if system else Q(name__startswith=name)
            return Q(namespace__name=namespace) & by_name
        return Q(namespace__name=namespace) | Q(name__startswith=word) | Q(system=word)

    def view_on_site(self, module: Module) -> str:
        return reverse("portal:module", args=[module.namespace.name, module.name, module.system])

    @admin.display(description="module")
    def title(self, module: Module) -> str:
        return str(module)

    @admin.display(description="latest")
    def latest(self, module: Any) -> str:
        return module.latest or "-"

    @admin.display(description="versions")
    def versions(self, module: Any) -> int:
        return int(module.version_count)

    @admin.display(description="page")
    def page(self, module: Module) -> str:
        return format_html('<a href="{}">open</a>', self.view_on_site(module))

    @admin.display(description="versions")
    def all_versions(self, module: Module) -> str:
        url = reverse("admin:modules_moduleversion_changelist")
        return format_html('<a href="{}?q={}">Show its versions</a>', url, str(module))


@admin.register(ModuleVersion)
class ModuleVersionAdmin(ReadOnlyAdmin[ModuleVersion]):
    """Published artefacts: looked at here, never changed (D5)."""

    list_display = ("title", "state_badge", "size", "sha256", "published", "by", "page")
    list_filter = ("release__state", NamespaceFilter, "is_prerelease")
    list_select_related = ("module__namespace", "release__namespace", "release__created_by")
    date_hierarchy = "release__created_at"
    ordering = ("-pk",)
    sortable_by = ()
    search_fields = ("module__name", "release__version", "release__digest")
    search_help_text = "An address (acme/vpc/aws), a version, or the beginning of a stored or uploaded sha256."
    fields = (
        ("title", "is_prerelease"),
        ("release", "published", "by"),
        ("digest", "size"),
        ("uploaded_digest", "uploaded_size"),
        "file_list",
    )
    readonly_fields = ("title", "published", "by", "digest", "size", "uploaded_digest", "uploaded_size", "file_list")
    actions = None

    def find(self, word: str) -> Q:
        namespace, _, rest = word.partition("/")
        if rest:
            return Q(release__namespace__name=namespace, release__name__startswith=rest)
        digest = digest_prefix(word)
        by_digest = Q(release__digest__startswith=digest) | Q(release__uploaded_digest__startswith=digest)
        by_name = Q(module__namespace__name=namespace) | Q(module__name__startswith=word)
        return by_digest | by_name | Q(release__version=word)

    def view_on_site(self, row: ModuleVersion) -> str:
        module = row.module
        where = [module.namespace.name, module.name, module.system, row.release.version]
        return reverse("portal:module-version", args=where)

    @admin.display(description="version")
    def title(self, row: ModuleVersion) -> str:
        return str(row.release)

    @admin.display(description="state")
    def state_badge(self, row: ModuleVersion) -> str:
        return badge(row.release.state)

    @admin.display(description="bytes")
    def size(self, row: ModuleVersion) -> int | None:
        return row.release.size

    @admin.display(description="sha256")
    def sha256(self, row: ModuleVersion) -> str:
        return short(row.release.digest)

    @admin.display(description="stored sha256")
    def digest(self, row: ModuleVersion) -> str:
        return row.release.digest

    @admin.display(description="uploaded sha256")
    def uploaded_digest(self, row: ModuleVersion) -> str:
        return row.release.uploaded_digest

    @admin.display(description="uploaded bytes")
    def uploaded_size(self, row: ModuleVersion) -> int | None:
        return row.release.uploaded_size

    @admin.display(description="published")
    def published(self, row: ModuleVersion) -> Any:
        return row.release.published_at

    @admin.display(description="by")
    def by(self, row: ModuleVersion) -> str:
        return str(row.release.created_by or "-")

    @admin.display(description="page")
    def page(self, row: ModuleVersion) -> str:
        return format_html('<a href="{}">open</a>', self.view_on_site(row))

    @admin.display(description="files")
    def file_list(self, row: ModuleVersion) -> str:
        rows = ((file["name"], file["size"]) for file in row.files)
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{} ({} bytes)</li>", rows))
