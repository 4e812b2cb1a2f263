from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from apps.accounts.admin.actors import each
from apps.accounts.admin.filters import in_namespace
from apps.admin_base import Act, Column, count_of, digest_prefix, moment, row_link, short, size
from apps.admin_base.base import address_condition
from apps.providers.lifecycle import ACTIONS
from apps.providers.models import Package, Provider, ProviderVersion
from apps.providers.signatures import resigning
from apps.releases.admin.versions import PublisherFilter, QuarantineFilter, VerifiedFilter, VersionAdmin


@admin.register(ProviderVersion)
class ProviderVersionAdmin(VersionAdmin):
    change_list_template = "admin/provider_artefacts.html"
    lifecycle = ACTIONS
    list_display = ("title", "standing", "signing", "key_page", "packages", "by", "published", "sums", "page")
    list_filter = (
        "release__lifecycle",
        QuarantineFilter,
        "signing",
        in_namespace("provider__namespace__name"),
        PublisherFilter,
        ("release__published_at", admin.DateFieldListFilter),
        "is_prerelease",
        VerifiedFilter,
    )
    list_select_related = ("provider__namespace", "release__namespace", "release__created_by", "key")
    date_hierarchy = "release__published_at"
    ordering = ("-pk",)
    indexed_orders = ("release__published_at",)
    search_fields = ("provider__type", "release__version", "sums_digest")
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

    key_page = Column("key", lambda row: row_link(row.key), order="key__key_id")
    packages = Column("packages", "package_count", order="package_count")
    sums = Column("SHA256SUMS", lambda row: short(row.sums_digest), order="sums_digest")
    provider_page = Column("provider", lambda row: row_link(row.provider))

    @admin.display(description="packages")
    def package_list(self, row: ProviderVersion) -> str:
        shown = row.packages.order_by("os", "arch")
        lines = format_html_join(
            "",
            '<tr><td><a href="{}">{}</a></td><td>{}</td><td>{}</td></tr>',
            (
                (
                    reverse("admin:providers_package_change", args=[one.pk]),
                    one.platform,
                    size(one.size),
                    short(one.digest),
                )
                for one in shown
            ),
        )
        return format_html(
            "<table><thead><tr><th scope=col>Platform</th><th scope=col>Size</th><th scope=col>sha256</th></tr>"
            "</thead><tbody>{}</tbody></table>",
            lines,
        )

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
