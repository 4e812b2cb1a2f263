"""Admin pages for providers, versions and packages; those for keys are in `signing`."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from apps.accounts.admin.actors import each
from apps.accounts.admin.filters import in_namespace
from apps.admin_base import (
    Act,
    Column,
    ReadOnlyAdmin,
    count_of,
    digest_prefix,
    link,
    moment,
    row_link,
    short,
    size,
    table,
    words,
)
from apps.admin_base.base import address_condition
from apps.lib.packages.names import ARCHITECTURES, SYSTEMS
from apps.providers.lifecycle import ACTIONS
from apps.providers.models import Package, Provider, ProviderVersion
from apps.providers.signatures import resigning
from apps.releases.admin import standing_badge
from apps.releases.admin_versions import (
    RELEASE_AND_PEOPLE,
    NamedAdmin,
    PublisherFilter,
    QuarantineFilter,
    VerifiedFilter,
    VersionAdmin,
)


@admin.register(ProviderVersion)
class ProviderVersionAdmin(VersionAdmin):
    change_list_template = "admin/provider_artefacts.html"
    lifecycle = ACTIONS
    list_display = ("title", "standing", "signed_by", "key_page", "packages", "by", "published", "sums", "page")
    list_filter = (
        "release__lifecycle",
        QuarantineFilter,
        "signing",
        in_namespace("provider__namespace"),
        PublisherFilter,
        ("release__published_at", admin.DateFieldListFilter),
        "is_prerelease",
        VerifiedFilter,
    )
    list_select_related = ("provider__namespace", "key", *RELEASE_AND_PEOPLE)
    search_help_text = (
        "An address (acme/cloud), a version, a key id, or the beginning of a sha256: of a zip, of SHA256SUMS or of its "
        "signature."
    )
    fields = (
        ("title", "standing", "is_prerelease"),
        ("release_page", "provider_page", "published", "by"),
        ("why", "instead"),
        ("signing", "key_page", "protocols"),
        ("sums_digest", "signature_digest"),
        "former",
        "verified",
        "package_list",
    )
    acts = {
        **VersionAdmin.acts,
        "resign": Act(
            "Sign selected versions again, with the namespace's newest key",
            resigning.PERMISSION,
            each(
                lambda row, viewer: resigning.resign(
                    viewer=viewer, address=row.provider.address, version=row.release.version
                ),
                "Queued",
            ),
            button="Sign again",
        ),
    }
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
        rows: QuerySet[ProviderVersion] = super().get_queryset(request)
        return rows.annotate(package_count=count_of(packages, "version"))

    def search_condition(self, word: str) -> Q:
        if by_address := address_condition(word, "provider__namespace__name", "provider__type"):
            return by_address
        digest = digest_prefix(word)
        zips = Package.objects.filter(digest__begins=digest).values("version")
        by_digest = Q(sums_digest__begins=digest) | Q(signature_digest__begins=digest) | Q(pk__in=zips)
        by_name = Q(provider__namespace__name=word) | Q(provider__in=Provider.objects.filter(type__begins=word))
        return by_digest | by_name | Q(release__version=word) | Q(key__key_id=word.upper())

    def view_on_site(self, row: ProviderVersion) -> str:
        where = [row.provider.namespace.name, row.provider.type, row.release.version]
        return reverse("portal:provider-version", args=where)

    signed_by = Column("signing", "signing", order="signing")
    key_page = Column("key", lambda row: row_link(row.key), order="key__key_id")
    packages = Column("packages", "package_count", order="package_count")
    sums = Column("SHA256SUMS", lambda row: short(row.sums_digest), order="sums_digest")
    provider_page = Column("provider", lambda row: row_link(row.provider))

    @admin.display(description="packages")
    def package_list(self, row: ProviderVersion) -> str:
        shown = row.packages.order_by("os", "arch")
        lines = []
        for one in shown:
            page = link(reverse("admin:providers_package_change", args=[one.pk]), one.platform)
            lines.append([page, size(one.size), short(one.digest)])
        return table(["Platform", "Size", "sha256"], lines)

    @admin.display(description="former signatures")
    def former(self, row: ProviderVersion) -> str:
        lines = format_html_join(
            "",
            "<li>{} by {}, until {}</li>",
            (
                (short(one.digest), one.key, moment(one.replaced_at))
                for one in row.former_signatures.select_related("key").order_by("-pk")
            ),
        )
        return format_html("<ul>{}</ul>", lines) if lines else "none"


@admin.register(Provider)
class ProviderAdmin(NamedAdmin):
    change_list_template = "admin/provider_artefacts.html"
    list_display = ("title", "latest", "versions", "created_at", "page")
    search_help_text = "An address (acme/cloud), its beginning, or one of its names."
    fields = (("namespace", "type"), "description", "source_url", "notice", ("latest", "created_at"), "newest")
    readonly_fields = ("latest", "newest")
    version_columns = {
        "Lifecycle": lambda row: standing_badge(row.release),
        "Signing": lambda row: row.get_signing_display(),
        "Key": lambda row: row.key,
    }
    csv_columns = ("namespace__name", "type", "latest", "description", "source_url", "notice", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Provider]:
        versions = ProviderVersion.objects.filter(provider=OuterRef("pk"))
        listed = versions.listed().order_by("is_prerelease", "-release__sort_key", "-pk")
        latest = Subquery(listed.values("release__version")[:1])
        rows: QuerySet[Provider] = super().get_queryset(request)
        return rows.annotate(version_count=count_of(versions, "provider"), latest=latest)

    def search_condition(self, word: str) -> Q:
        if by_address := address_condition(word, "namespace__name", "type"):
            return by_address
        return Q(namespace__name=word) | Q(type__begins=word)

    def view_on_site(self, provider: Provider) -> str:
        return reverse("portal:provider", args=[provider.namespace.name, provider.type])

    title = Column("provider", str, order="namespace__name")

    def newest_versions(self, named: Any) -> QuerySet[ProviderVersion]:
        return ProviderVersion.objects.filter(provider=named).newest_first().select_related("release", "key")


@admin.register(Package)
class PackageAdmin(ReadOnlyAdmin[Package]):
    names = ("provider package", "provider packages")
    list_display = ("filename", "version_page", "platform", "size", "sha256", "standing")
    list_filter = (
        in_namespace("version__provider__namespace"),
        words("os", "os", "os", lambda: SYSTEMS),
        words("arch", "arch", "arch", lambda: ARCHITECTURES),
        ("version__release__lifecycle", admin.ChoicesFieldListFilter),
    )
    list_select_related = ("version__release__namespace",)
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

    def search_condition(self, word: str) -> Q:
        if by_address := address_condition(word, "version__provider__namespace__name", "version__provider__type"):
            return by_address
        os, _, arch = word.partition("_")
        by_platform = Q(os=os, arch=arch) if arch else Q(os=os) | Q(arch=os)
        by_digest = Q(digest__begins=digest_prefix(word.removeprefix("zh:")))
        return by_platform | by_digest | Q(filename__begins=word) | Q(version__release__version=word)

    def view_on_site(self, package: Package) -> str:
        release = package.version.release
        return reverse("portal:provider-version", args=[release.namespace.name, release.name, release.version])

    platform = Column("platform", "platform", order="os")

    @admin.display(description="version", ordering="version__release__version")
    def version_page(self, package: Package) -> str:
        url = reverse("admin:providers_providerversion_change", args=[package.version_id])
        return link(url, package.version.release)

    sha256 = Column("sha256", lambda package: short(package.digest), order="digest")
    standing = Column(
        "lifecycle", lambda package: standing_badge(package.version.release), order="version__release__lifecycle"
    )
