from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from apps.accounts.admin.filters import in_namespace
from apps.admin_base import Column, ReadOnlyAdmin, count_of
from apps.admin_base.base import address_condition
from apps.providers.models import Provider, ProviderVersion
from apps.releases.admin.releases import standing_badge

VERSIONS_SHOWN = 20


@admin.register(Provider)
class ProviderAdmin(ReadOnlyAdmin[Provider]):
    change_list_template = "admin/provider_artefacts.html"
    list_display = ("title", "latest", "versions", "created_at", "page")
    list_filter = ("namespace__visibility", in_namespace())
    list_select_related = ("namespace",)
    date_hierarchy = "created_at"
    ordering = ("-pk",)
    indexed_orders = ("created_at",)
    search_fields = ("type",)
    search_help_text = "An address (acme/cloud), its beginning, or one of its names."
    fields = (("namespace", "type"), "description", "source_url", "notice", ("latest", "created_at"), "newest")
    readonly_fields = ("latest", "newest")
    csv_columns = ("namespace__name", "type", "latest", "description", "source_url", "notice", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Provider]:
        versions = ProviderVersion.objects.filter(provider=OuterRef("pk"))
        listed = versions.listed().order_by("is_prerelease", "-release__sort_key", "-pk")
        latest = Subquery(listed.values("release__version")[:1])
        return super().get_queryset(request).annotate(version_count=count_of(versions, "provider"), latest=latest)

    def search_condition(self, word: str) -> Q:
        if by_address := address_condition(word, "namespace__name", "type"):
            return by_address
        return Q(namespace__name=word) | Q(type__begins=word)

    def view_on_site(self, provider: Provider) -> str:
        return reverse("portal:provider", args=[provider.namespace.name, provider.type])

    title = Column("provider", str, order="namespace__name")
    latest = Column("latest", lambda provider: provider.latest or "-", order="latest")
    versions = Column("versions", "version_count", order="version_count")

    @admin.display(description="versions")
    def newest(self, provider: Any) -> str:
        """The newest versions as a separate table: an inline would load every version to show twenty."""
        shown = ProviderVersion.objects.filter(provider=provider).newest_first().select_related("release", "key")
        lines = format_html_join(
            "",
            '<tr><td><a href="{}">{}</a></td><td>{}</td><td>{}</td><td>{}</td></tr>',
            (
                (
                    reverse("admin:providers_providerversion_change", args=[row.pk]),
                    row.release.version,
                    standing_badge(row.release),
                    row.get_signing_display(),
                    row.key,
                )
                for row in shown[:VERSIONS_SHOWN]
            ),
        )
        return format_html(
            "<table><thead><tr><th scope=col>Version</th><th scope=col>Lifecycle</th><th scope=col>Signing</th>"
            "<th scope=col>Key</th></tr></thead><tbody>{}</tbody></table>"
            '<p><a href="{}?q={}">All {} versions</a></p>',
            lines,
            reverse("admin:providers_providerversion_changelist"),
            str(provider),
            provider.version_count,
        )
