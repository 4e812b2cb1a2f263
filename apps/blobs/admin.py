from django.contrib import admin
from django.db.models import Q

from apps.admin_base import ReadOnlyAdmin, badge, digest_prefix, short
from apps.blobs.models import Blob


@admin.register(Blob)
class BlobAdmin(ReadOnlyAdmin[Blob]):
    list_display = ("short_digest", "size", "state_badge", "created_at")
    list_filter = ("state",)
    date_hierarchy = "created_at"
    ordering = ("-pk",)
    sortable_by = ()
    search_fields = ("digest",)
    search_help_text = "The beginning of a sha256."
    fields = ("digest", "size", "state", "created_at")
    csv_columns = ("digest", "size", "state", "created_at")

    def find(self, word: str) -> Q:
        return Q(digest__startswith=digest_prefix(word))

    @admin.display(description="sha256")
    def short_digest(self, blob: Blob) -> str:
        return short(blob.digest)

    @admin.display(description="state")
    def state_badge(self, blob: Blob) -> str:
        return badge(blob.state)
