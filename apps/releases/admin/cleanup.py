from django.contrib import admin
from django.db.models import Q

from apps.accounts.admin.filters import in_namespace
from apps.admin_base import ReadOnlyAdmin
from apps.releases.cleanup_rows import CleanupRule


@admin.register(CleanupRule)
class CleanupRuleAdmin(ReadOnlyAdmin[CleanupRule]):
    """Owners change them on the page of their namespace."""

    list_display = ("namespace", "enabled", "action", "prerelease_days", "stable_days", "changed_at", "applied_at")
    list_filter = ("enabled", "action", in_namespace())
    list_select_related = ("namespace",)
    ordering = ("-pk",)
    search_fields = ("namespace__name",)
    search_help_text = "The name of a namespace."
    fields = (
        ("namespace", "enabled", "action"),
        ("prerelease_days", "stable_days"),
        ("keep_newest", "fetched_days"),
        ("changed_at", "changed_by"),
        ("applied_at", "applied_count"),
    )

    csv_columns = (
        *("namespace__name", "enabled", "action", "prerelease_days", "stable_days", "keep_newest", "fetched_days"),
        *("changed_at", "applied_at", "applied_count"),
    )

    def search_condition(self, word: str) -> Q:
        return Q(namespace__name=word)
