from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Concat
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from apps.accounts.admin.filters import in_namespace
from apps.admin_base import Column, ReadOnlyAdmin, badge, count_of, size
from apps.modules.models import Module, ModuleVersion
from apps.releases.admin.releases import standing_badge
from apps.releases.models import Kind, SearchDoc

VERSIONS_SHOWN = 20


@admin.register(Module)
class ModuleAdmin(ReadOnlyAdmin[Module]):
    change_list_template = "admin/artefacts.html"
    list_display = ("title", "latest", "versions", "downloads", "created_at", "page")
    list_filter = ("namespace__visibility", in_namespace())
    list_select_related = ("namespace",)
    date_hierarchy = "created_at"
    ordering = ("-pk",)
    indexed_orders = ("created_at",)
    search_fields = ("name", "system")
    search_help_text = "An address (acme/vpc/aws), its beginning, or one of its names."
    fields = (
        ("namespace", "name", "system"),
        "description",
        "source_url",
        ("latest", "downloads", "created_at"),
        "newest",
    )
    readonly_fields = ("latest", "downloads", "newest")
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
        return super().get_queryset(request).annotate(version_count=count_of(versions, "module"), **columns)

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
    latest = Column("latest", lambda module: module.latest or "-", order="latest")
    versions = Column("versions", "version_count", order="version_count")
    downloads = Column("downloads", lambda module: int(module.downloads or 0), order="downloads")

    @admin.display(description="versions")
    def newest(self, module: Any) -> str:
        """The newest versions as a separate table: an inline would load every version to show twenty."""
        rows = ModuleVersion.objects.filter(module=module).newest_first().without_texts()
        shown = rows.select_related("release")[:VERSIONS_SHOWN]
        lines = format_html_join(
            "",
            '<tr><td><a href="{}">{}</a></td><td>{}</td><td>{}</td><td>{}</td></tr>',
            ((_change_url(row), row.release.version, *_standing(row), size(row.release.size)) for row in shown),
        )
        every = reverse("admin:modules_moduleversion_changelist")
        return format_html(
            "<table><thead><tr><th scope=col>Version</th><th scope=col>State</th><th scope=col>Lifecycle</th>"
            "<th scope=col>Size</th></tr></thead><tbody>{}</tbody></table>"
            '<p><a href="{}?q={}">All {} versions</a></p>',
            lines,
            every,
            str(module),
            module.version_count,
        )


def _change_url(row: ModuleVersion) -> str:
    return reverse("admin:modules_moduleversion_change", args=[row.pk])


def _standing(row: ModuleVersion) -> tuple[str, str]:
    return badge(row.release.state), standing_badge(row.release)
