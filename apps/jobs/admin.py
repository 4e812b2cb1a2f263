from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.timesince import timesince

from apps.admin_base import ReadOnlyAdmin, badge
from apps.jobs import queue
from apps.jobs.models import WORKING, Job


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin[Job]):
    list_display = ("title", "state_badge", "attempts", "age", "worker", "lease_until", "not_before", "finished_at")
    list_filter = ("state", "kind")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
    sortable_by = ("age",)
    search_fields = ("kind", "target", "request_id")
    search_help_text = "A kind, the number of a target, or a whole request id."
    fields = (
        ("kind", "target"),
        ("state", "attempts", "fence"),
        ("worker", "lease_until", "not_before", "rung_at"),
        "log",
        ("request_id", "created_by_id"),
        ("created_at", "finished_at"),
    )
    readonly_fields = ("log",)
    actions = ["retry", "cancel"]
    csv_columns = (
        "pk",
        "kind",
        "target",
        "state",
        "attempts",
        "worker",
        "created_by_id",
        "created_at",
        "finished_at",
        "request_id",
        "error",
    )

    def find(self, word: str) -> Q:
        number = word.removeprefix("#")
        by_target = Q(target=int(number)) if number.isdecimal() and len(number) < 19 else Q()  # noqa: PLR2004  # fits 64 bits
        return by_target or Q(kind=word) | Q(request_id=word)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("jobs.retry_job")

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("jobs.cancel_job")

    @admin.action(permissions=["retry"], description="Retry selected jobs")
    def retry(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self.act(request, queryset, lambda job: queue.retry(job, request.user.pk), done="Queued again")

    @admin.action(permissions=["cancel"], description="Cancel selected jobs")
    def cancel(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self.act(request, queryset, lambda job: queue.cancel(job, request.user.pk), done="Cancelled")

    @admin.display(description="job")
    def title(self, job: Job) -> str:
        return str(job)

    @admin.display(description="state")
    def state_badge(self, job: Job) -> str:
        return badge(job.state)

    @admin.display(description="age", ordering="created_at")
    def age(self, job: Job) -> str:
        until = timezone.now() if job.state in WORKING else job.finished_at
        return timesince(job.created_at, until, depth=1)

    @admin.display(description="log")
    def log(self, job: Job) -> str:
        return format_html("<pre>{}</pre>", job.error or "no error")
