"""Operators' pages of providers, their versions and packages: published artefacts, looked at and never changed (D5)."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from apps.accounts.admin.filters import NamespaceFilter, PersonFilter
from apps.admin_base import ReadOnlyAdmin, SetFilter, count_of, digest_prefix, link, portal_link, short
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.admin.releases import standing_badge

VERSIONS_SHOWN = 20


class VersionNamespaceFilter(NamespaceFilter):
    path = "provider__namespace__name"


class PackageNamespaceFilter(NamespaceFilter):
    path = "version__provider__namespace__name"


class PublisherFilter(PersonFilter):
    title = "publisher"
    path = "release__created_by__username"


class QuarantineFilter(SetFilter):
    title = "quarantine"
    parameter_name = "quarantined"
    path = "release__quarantined_at"
    words = ("In quarantine", "Not in quarantine")


@admin.register(Provider)
class ProviderAdmin(ReadOnlyAdmin[Provider]):
    list_display = ("title", "latest", "versions", "created_at", "page")
    list_filter = ("namespace__visibility", NamespaceFilter)
    list_select_related = ("namespace",)
    date_hierarchy = "created_at"
    ordering = ("-pk",)
    sortable_by = ()
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

    def find(self, word: str) -> Q:
        namespace, slash, rest = word.partition("/")
        if slash:
            return Q(namespace__name=namespace, type__startswith=rest)
        return Q(namespace__name=namespace) | Q(type__startswith=word)

    def view_on_site(self, provider: Provider) -> str:
        return reverse("portal:provider", args=[provider.namespace.name, provider.type])

    @admin.display(description="provider")
    def title(self, provider: Provider) -> str:
        return str(provider)

    @admin.display(description="latest")
    def latest(self, provider: Any) -> str:
        return provider.latest or "-"

    @admin.display(description="versions")
    def versions(self, provider: Any) -> int:
        return int(provider.version_count)

    @admin.display(description="page")
    def page(self, provider: Provider) -> str:
        return portal_link(self.view_on_site(provider), provider)

    @admin.display(description="versions")
    def newest(self, provider: Any) -> str:
        """The newest in a table of their own: an inline would read every version to show twenty."""
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


@admin.register(ProviderVersion)
class ProviderVersionAdmin(ReadOnlyAdmin[ProviderVersion]):
    list_display = ("title", "standing", "signing", "key_page", "packages", "by", "published", "sums", "page")
    list_filter = (
        "release__lifecycle",
        QuarantineFilter,
        "signing",
        VersionNamespaceFilter,
        PublisherFilter,
        ("release__published_at", admin.DateFieldListFilter),
        "is_prerelease",
    )
    list_select_related = ("provider__namespace", "release__namespace", "release__created_by", "key")
    date_hierarchy = "release__published_at"
    ordering = ("-pk",)
    sortable_by = ()
    search_fields = ("provider__type", "release__version", "sums_digest")
    search_help_text = (
        "An address (acme/cloud), a version, a key id, or the beginning of a sha256: of a zip, of SHA256SUMS or of its "
        "signature."
    )
    fields = (
        ("title", "standing", "is_prerelease"),
        ("release_page", "provider_page", "published", "by"),
        "why",
        ("signing", "key_page", "protocols"),
        ("sums_digest", "signature_digest"),
        "package_list",
    )
    csv_columns = (
        "provider__namespace__name",
        "provider__type",
        "release__version",
        "is_prerelease",
        "release__lifecycle",
        "release__lifecycle_reason",
        "release__quarantined_at",
        "protocols",
        "signing",
        "key__fingerprint",
        "sums_digest",
        "signature_digest",
        "release__created_by__username",
        "release__published_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProviderVersion]:
        packages = Package.objects.filter(version=OuterRef("pk"))
        return super().get_queryset(request).annotate(package_count=count_of(packages, "version"))

    def find(self, word: str) -> Q:
        namespace, slash, rest = word.partition("/")
        if slash:
            return Q(provider__namespace__name=namespace, provider__type__startswith=rest)
        digest = digest_prefix(word)
        zips = Package.objects.filter(digest__startswith=digest).values("version")
        by_digest = Q(sums_digest__startswith=digest) | Q(signature_digest__startswith=digest) | Q(pk__in=zips)
        by_name = Q(provider__namespace__name=namespace) | Q(provider__type__startswith=word)
        return by_digest | by_name | Q(release__version=word) | Q(key__key_id=word.upper())

    def view_on_site(self, row: ProviderVersion) -> str:
        where = [row.provider.namespace.name, row.provider.type, row.release.version]
        return reverse("portal:provider-version", args=where)

    @admin.display(description="version")
    def title(self, row: ProviderVersion) -> str:
        return str(row.release)

    @admin.display(description="lifecycle")
    def standing(self, row: ProviderVersion) -> str:
        return standing_badge(row.release)

    @admin.display(description="key")
    def key_page(self, row: ProviderVersion) -> str:
        return link(reverse("admin:signing_signingkey_change", args=[row.key_id]), row.key)

    @admin.display(description="packages")
    def packages(self, row: Any) -> int:
        return int(row.package_count)

    @admin.display(description="by")
    def by(self, row: ProviderVersion) -> str:
        return str(row.release.created_by or "-")

    @admin.display(description="published")
    def published(self, row: ProviderVersion) -> Any:
        return row.release.published_at

    @admin.display(description="SHA256SUMS")
    def sums(self, row: ProviderVersion) -> str:
        return short(row.sums_digest)

    @admin.display(description="page")
    def page(self, row: ProviderVersion) -> str:
        return portal_link(self.view_on_site(row), row.release)

    @admin.display(description="release")
    def release_page(self, row: ProviderVersion) -> str:
        return link(reverse("admin:releases_release_change", args=[row.release_id]), row.release)

    @admin.display(description="provider")
    def provider_page(self, row: ProviderVersion) -> str:
        return link(reverse("admin:providers_provider_change", args=[row.provider_id]), row.provider)

    @admin.display(description="reason")
    def why(self, row: ProviderVersion) -> str:
        return row.release.quarantine_reason or row.release.lifecycle_reason or "-"

    @admin.display(description="packages")
    def package_list(self, row: ProviderVersion) -> str:
        shown = row.packages.order_by("os", "arch")
        lines = format_html_join(
            "",
            '<tr><td><a href="{}">{}</a></td><td>{}</td><td>{}</td></tr>',
            (
                (reverse("admin:providers_package_change", args=[one.pk]), one.platform, one.size, short(one.digest))
                for one in shown
            ),
        )
        return format_html(
            "<table><thead><tr><th scope=col>Platform</th><th scope=col>Bytes</th><th scope=col>sha256</th></tr>"
            "</thead><tbody>{}</tbody></table>",
            lines,
        )


@admin.register(Package)
class PackageAdmin(ReadOnlyAdmin[Package]):
    list_display = ("filename", "version_page", "platform", "size", "sha256", "standing")
    list_filter = (PackageNamespaceFilter, "os", "arch", ("version__release__lifecycle", admin.ChoicesFieldListFilter))
    list_select_related = ("version__release__namespace",)
    ordering = ("-pk",)
    sortable_by = ()
    search_fields = ("filename", "digest")
    search_help_text = "An address (acme/cloud), a platform (linux_amd64), a file name, or the beginning of a sha256."
    fields = (("filename", "platform"), "version_page", ("digest", "size"), "h1")
    csv_columns = (
        "version__provider__namespace__name",
        "version__provider__type",
        "version__release__version",
        "os",
        "arch",
        "filename",
        "size",
        "digest",
        "h1",
    )

    def find(self, word: str) -> Q:
        namespace, slash, rest = word.partition("/")
        if slash:
            return Q(version__provider__namespace__name=namespace, version__provider__type__startswith=rest)
        os, _, arch = word.partition("_")
        by_platform = Q(os=os, arch=arch) if arch else Q(os=os) | Q(arch=os)
        by_digest = Q(digest__startswith=digest_prefix(word.removeprefix("zh:")))
        return by_platform | by_digest | Q(filename__startswith=word) | Q(version__release__version=word)

    def view_on_site(self, package: Package) -> str:
        release = package.version.release
        return reverse("portal:provider-version", args=[release.namespace.name, release.name, release.version])

    @admin.display(description="platform")
    def platform(self, package: Package) -> str:
        return package.platform

    @admin.display(description="version")
    def version_page(self, package: Package) -> str:
        url = reverse("admin:providers_providerversion_change", args=[package.version_id])
        return link(url, package.version.release)

    @admin.display(description="sha256")
    def sha256(self, package: Package) -> str:
        return short(package.digest)

    @admin.display(description="lifecycle")
    def standing(self, package: Package) -> str:
        return standing_badge(package.version.release)
