from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from apps.admin_base import ReadOnlyAdmin, WordFilter, badge, digest_prefix, short
from apps.releases.models import Release


class NamespaceFilter(WordFilter):
    title = "namespace"
    parameter_name = "in"

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Release]) -> QuerySet[Release]:
        return queryset.filter(namespace__name=self.value()) if self.value() else queryset


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin[Release]):
    list_display = (
        "title",
        "state_badge",
        "kind",
        "size",
        "stored",
        "created_by",
        "created_at",
        "published_at",
        "page",
    )
    list_filter = ("state", NamespaceFilter, "kind")
    list_select_related = ("namespace", "created_by")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
    sortable_by = ("created_at",)
    search_fields = ("name", "version", "digest", "uploaded_digest")
    search_help_text = (
        "An address (acme/vpc/aws) or its beginning, a version, the beginning of a stored or uploaded sha256."
    )
    fields = (
        ("title", "kind", "state"),
        "why",
        ("digest", "size"),
        ("uploaded_digest", "uploaded_size", "file_name"),
        ("created_by", "token_id"),
        "provenance",
        ("created_at", "received_at", "checking_at", "checked_at"),
        ("published_at", "finished_at", "receiving_until"),
        ("public_id", "staging_key"),
    )
    readonly_fields = ("title", "why")
    actions = None

    def find(self, word: str) -> Q:
        namespace, slash, rest = word.partition("/")
        if slash:
            return Q(namespace__name=namespace, name__startswith=rest) | Q(name=word)
        digest = digest_prefix(word)
        by_digest = Q(digest__startswith=digest) | Q(uploaded_digest__startswith=digest)
        return by_digest | Q(version=word) | Q(namespace__name=word) | Q(name__startswith=word)

    def view_on_site(self, release: Release) -> str:
        return reverse("portal:release", args=[release.public_id])

    @admin.display(description="release")
    def title(self, release: Release) -> str:
        return str(release)

    @admin.display(description="state")
    def state_badge(self, release: Release) -> str:
        return badge(release.state)

    @admin.display(description="stored sha256")
    def stored(self, release: Release) -> str:
        return short(release.digest)

    @admin.display(description="page")
    def page(self, release: Release) -> str:
        return format_html('<a href="{}">open</a>', self.view_on_site(release))

    @admin.display(description="reasons")
    def why(self, release: Release) -> str:
        reasons = format_html_join(
            "", "<li><code>{}</code> {}</li>", ((r.code, r.sentence) for r in release.refusals())
        )
        return format_html("<ul>{}</ul>", reasons) if reasons else "none"
