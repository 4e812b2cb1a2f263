from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from apps.admin_base import Column, ReadOnlyAdmin, badge, digest_prefix, short
from apps.blobs.models import Blob, Problem


class ProblemFilter(admin.SimpleListFilter):
    title = "storage check"
    parameter_name = "problem"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        found = [(problem.value, problem.value) for problem in (Problem.MISSING, Problem.DAMAGED)]
        return [("any", "missing or damaged"), *found, ("unchecked", "not read again yet")]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Blob]) -> QuerySet[Blob]:
        match self.value():
            case "any":
                return queryset.exclude(problem=Problem.NONE)
            case "unchecked":
                return queryset.filter(checked_at=None)
            case Problem.MISSING | Problem.DAMAGED as problem:
                return queryset.filter(problem=problem)
        return queryset


@admin.register(Blob)
class BlobAdmin(ReadOnlyAdmin[Blob]):
    list_display = ("short_digest", "size", "state_badge", "problem_badge", "checked_at", "created_at")
    list_filter = ("state", ProblemFilter)
    date_hierarchy = "created_at"
    ordering = ("-pk",)
    indexed_orders = ("digest", "created_at", "checked_at")
    search_fields = ("digest",)
    search_help_text = "The beginning of a sha256."
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
