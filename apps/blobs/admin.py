from django.contrib import admin
from django.db.models import Q

from apps.admin_base import Column, ReadOnlyAdmin, badge, digest_prefix, one_of, short
from apps.blobs.models import Blob, Problem

ProblemFilter = one_of(
    "storage check",
    "problem",
    {
        "any": ("missing or damaged", lambda blobs: blobs.exclude(problem=Problem.NONE)),
        "missing": ("missing", lambda blobs: blobs.filter(problem=Problem.MISSING)),
        "damaged": ("damaged", lambda blobs: blobs.filter(problem=Problem.DAMAGED)),
        "unchecked": ("not checked yet", lambda blobs: blobs.filter(checked_at=None)),
    },
)


@admin.register(Blob)
class BlobAdmin(ReadOnlyAdmin[Blob]):
    list_display = ("short_digest", "size", "state_badge", "problem_badge", "checked_at", "created_at")
    list_filter = ("state", ProblemFilter)
    indexed_orders = ("digest", "created_at", "checked_at")
    search_help_text = "The start of a sha256."
    fields = ("digest", "size", "state", "problem_badge", "checked_at", "created_at")
    csv_columns = ("digest", "size", "state", "problem", "checked_at", "created_at")

    def search_condition(self, word: str) -> Q:
        return Q(digest__begins=digest_prefix(word))

    short_digest = Column("sha256", lambda blob: short(blob.digest), order="digest")
    state_badge = Column("state", lambda blob: badge(blob.state), order="state")

    @admin.display(description="storage check", empty_value="-", ordering="problem")
    def problem_badge(self, blob: Blob) -> str | None:
        # No badge says "sound": checked_at is also set on a blob that took too long to read.
        return badge(blob.problem) if blob.problem else None
