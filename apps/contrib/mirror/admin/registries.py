"""Admin pages of mirrored registries. Nothing is edited here: actions call the verbs, the portal has the forms."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html

from apps.admin_base import (
    Column,
    ReadOnlyAdmin,
    badge,
    count_of,
    digest_prefix,
    is_set,
    row_link,
    short,
    size,
    table,
    words,
)
from apps.contrib.mirror.admin import actions
from apps.contrib.mirror.admin.decisions import of_host
from apps.contrib.mirror.asking import upstream_facts
from apps.contrib.mirror.models import (
    Upstream,
    UpstreamPackage,
    UpstreamProvider,
    UpstreamVersion,
)
from apps.contrib.mirror.records import storage
from apps.lib.packages.names import ARCHITECTURES, SYSTEMS

PACKAGES_SHOWN = 50


def by_address(word: str, path: str = "") -> Q:
    """Match `host/namespace/type`, `namespace/type` or one of the three; `path` leads to the provider.

    Providers are few beside what hangs on them, so they are found first.
    """
    parts = word.lower().split("/")
    found = UpstreamProvider.objects.order_by()
    match parts:
        case [one]:
            found = found.filter(Q(namespace=one) | Q(type__begins=one) | Q(upstream__host=one))
        case [namespace, type_]:
            found = found.filter(namespace=namespace, type__begins=type_)
        case [host, namespace, type_]:
            found = found.filter(upstream__host=host, namespace=namespace, type__begins=type_)
        case _:
            found = found.none()
    return Q(**{f"{path}__in" if path else "pk__in": found.values("pk")})


def failure_text(row: Any) -> str:
    """The last failure: what the registry answered, and the rule of ours that refused."""
    found = row.failure
    if not found:
        return "none"
    status = f" ({found['status']})" if found.get("status") else ""
    rule = f", rule {found['rule']}" if found.get("rule") else ""
    return f"{found.get('message', '')}{rule}. {found.get('url', '')}{status}"


def state_of(row: Upstream) -> str:
    return badge(upstream_facts.state_of(row, now=timezone.now()))


@admin.register(Upstream)
class UpstreamAdmin(ReadOnlyAdmin[Upstream]):
    names = ("mirrored registry", "mirrored registries")
    list_display = ("host", "state", "is_sealed", "visibility", "packages", "stored", "quota", "succeeded_at")
    list_filter = ("is_enabled", "is_sealed", "visibility")
    list_select_related = ("created_by",)
    ordering = ("host",)
    search_help_text = "The start of a host."
    fields = (
        ("host", "url", "state"),
        ("is_enabled", "is_sealed", "visibility"),
        ("terraform_only", "terms_accepted_at"),
        ("cooldown_days", "list_seconds", "stale_hours"),
        ("stored", "packages", "quota", "evict_days"),
        ("proxy", "signs_in"),
        ("failures", "open_until"),
        ("succeeded_at", "failed_at"),
        "last_failure",
        ("discovered", "discovered_at"),
        ("created_by", "created_at"),
    )
    acts = actions.OF_UPSTREAMS
    csv_columns = (
        "host",
        "is_enabled",
        "is_sealed",
        "visibility",
        "cooldown_days",
        "quota_bytes",
        "evict_days",
        "succeeded_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Upstream]:
        return storage.with_used_bytes(super().get_queryset(request).defer("ca", "sealed_token"))

    def search_condition(self, word: str) -> Q:
        return Q(host__begins=word.lower())

    state = Column("state", state_of)
    packages = Column("packages", "stored_packages", order="stored_packages")
    stored = Column("stored", lambda row: size(row.used_bytes), order="used_bytes")
    quota = Column("quota", lambda row: size(row.quota_bytes) if row.quota_bytes else "none", order="quota_bytes")
    signs_in = Column("token", lambda row: "set" if row.sealed_token else "none")
    last_failure = Column("last failure", failure_text)


@admin.register(UpstreamProvider)
class UpstreamProviderAdmin(ReadOnlyAdmin[UpstreamProvider]):
    names = ("mirrored provider", "mirrored providers")
    list_display = ("title", "versions_listed", "listed_at", "problem", "created_at")
    list_filter = (of_host(), is_set("list", "listed", "listed_at", ("Known", "Never read")))
    list_select_related = ("upstream",)
    search_help_text = "An address (hashicorp/random, registry.opentofu.org/hashicorp/random), or one of its names."
    fields = (
        ("title", "versions_listed"),
        ("listed_at", "first_listed_at"),
        ("tried_at", "retry_at", "tries"),
        "last_failure",
        "warnings",
        "created_at",
    )
    acts = actions.OF_PROVIDERS
    csv_columns = ("upstream__host", "namespace", "type", "listed_at", "first_listed_at", "tried_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[UpstreamProvider]:
        listed = UpstreamVersion.objects.filter(provider=OuterRef("pk"), is_listed=True)
        return super().get_queryset(request).annotate(version_count=count_of(listed, "provider"))

    def search_condition(self, word: str) -> Q:
        return by_address(word)

    title = Column("provider", str, order="type")
    versions_listed = Column("versions listed", "version_count", order="version_count")
    problem = Column("problem", lambda row: row.failure.get("code", "-"))
    last_failure = Column("last failure", failure_text)


@admin.register(UpstreamVersion)
class UpstreamVersionAdmin(ReadOnlyAdmin[UpstreamVersion]):
    names = ("mirrored version", "mirrored versions")
    list_display = ("title", "verdict_text", "key_page", "packages", "first_seen_at", "published_at", "is_listed")
    list_filter = (of_host("provider__upstream__host"), "verdict", "is_listed")
    list_select_related = ("provider__upstream", "key__upstream", "key__provider__upstream")
    search_help_text = "An address, a version, or the digest of an OCI index."
    fields = (
        ("title", "is_listed", "absence"),
        ("verdict_text", "key_page", "verified_at"),
        ("first_seen_at", "published_at", "was_in_first_list"),
        ("protocols", "index_digest"),
        "package_list",
        "sums_text",
        ("tried_at", "retry_at", "tries"),
        "last_failure",
    )
    acts = actions.OF_VERSIONS
    csv_columns = (
        "provider__upstream__host",
        "provider__namespace",
        "provider__type",
        "version",
        "verdict",
        "key__fingerprint",
        "first_seen_at",
        "published_at",
        "verified_at",
        "is_listed",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[UpstreamVersion]:
        rows = super().get_queryset(request).defer("signature", "key__armor", "provider__upstream__ca")
        packages = UpstreamPackage.objects.filter(version=OuterRef("pk"))
        return rows.annotate(package_count=count_of(packages, "version"))

    def search_condition(self, word: str) -> Q:
        return by_address(word, "provider") | Q(version=word) | Q(index_digest=f"sha256:{digest_prefix(word)}")

    title = Column("version", str, order="version")
    verdict_text = Column("verdict", lambda row: row.get_verdict_display(), order="verdict")
    key_page = Column("key", lambda row: row_link(row.key) if row.key else "-")
    packages = Column("packages", "package_count", order="package_count")
    last_failure = Column("last failure", failure_text)
    sums_text = Column(
        "SHA256SUMS", lambda row: format_html("<pre>{}</pre>", bytes(row.sums).decode("utf-8", "replace"))
    )

    @admin.display(description="packages")
    def package_list(self, row: UpstreamVersion) -> str:
        shown = row.packages.order_by("os", "arch")[:PACKAGES_SHOWN]
        lines = [
            [row_link(one), one.platform, size(one.size), "stored" if one.blob_id else "not stored", short(one.digest)]
            for one in shown
        ]
        return table(["File", "Platform", "Size", "Bytes", "sha256"], lines)


@admin.register(UpstreamPackage)
class UpstreamPackageAdmin(ReadOnlyAdmin[UpstreamPackage]):
    names = ("mirrored package", "mirrored packages")
    list_display = ("title", "version_page", "platform", "size", "is_stored", "is_pinned", "used_at", "uses")
    list_filter = (
        of_host("version__provider__upstream__host"),
        is_set("bytes", "stored", "blob", ("Stored", "Not stored")),
        "is_pinned",
        words("os", "os", "os", lambda: SYSTEMS),
        words("arch", "arch", "arch", lambda: ARCHITECTURES),
    )
    list_select_related = ("version__provider__upstream", "fetched_by")
    indexed_orders = ("used_at",)
    search_help_text = "An address, a version, a file name, or the beginning of a sha256."
    fields = (
        ("filename", "platform", "version_page"),
        ("digest", "size"),
        "h1",
        ("is_stored", "is_pinned"),
        ("fetched_at", "fetched_by"),
        "fetched_from",
        ("used_at", "uses"),
        ("tried_at", "retry_at", "tries"),
        "last_failure",
    )
    acts = actions.OF_PACKAGES
    csv_columns = (
        "version__provider__upstream__host",
        "version__provider__namespace",
        "version__provider__type",
        "version__version",
        "os",
        "arch",
        "filename",
        "size",
        "digest",
        "h1",
        "is_pinned",
        "fetched_at",
        "fetched_from",
        "used_at",
        "uses",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[UpstreamPackage]:
        return (
            super()
            .get_queryset(request)
            .defer("version__sums", "version__signature", "version__provider__upstream__ca")
        )

    def search_condition(self, word: str) -> Q:
        by_version = Q(version__in=UpstreamVersion.objects.order_by().filter(version=word).values("pk"))
        of_provider = UpstreamVersion.objects.order_by().filter(by_address(word, "provider")).values("pk")
        by_digest = Q(digest__begins=digest_prefix(word.removeprefix("zh:")))
        return by_digest | Q(filename__begins=word) | by_version | Q(version__in=of_provider)

    title = Column("file", "filename", order="filename")
    version_page = Column("version", lambda row: row_link(row.version))
    platform = Column("platform", "platform")
    is_stored = Column("bytes", lambda row: "stored" if row.blob_id else "not stored")
    last_failure = Column("last failure", failure_text)
