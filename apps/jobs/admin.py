from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.timesince import timesince

from apps.admin_base import Act, Column, ReadOnlyAdmin, badge, row_link
from apps.admin_base.base import ACTION_ROWS
from apps.jobs import queue, targets
from apps.jobs.models import WORKING, Job, State


def _each(verb: Callable[..., None], done: str) -> Callable[[Any, HttpRequest, QuerySet[Job]], None]:
    def run(admin: Any, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        named = targets.attach(queryset[: ACTION_ROWS + 1])  # so that a refusal names its release
        admin.apply_verb(request, named, lambda job: verb(job, request.user.pk), done=done)

    return run


class Kinds(admin.SimpleListFilter):
    """Of all that there are: those of all rows are another question, which reads all of them."""

    title = "kind"
    parameter_name = "kind"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, kind) for kind in sorted(targets.sources)]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        return queryset.filter(kind=self.value()) if self.value() else queryset


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin[Job]):
    list_display = ("title", "state_badge", "attempts", "age", "worker", "finished_at")
    list_filter = ("state", Kinds)
    ordering = ("-created_at", "-pk")
    search_help_text = "An address (acme/vpc/aws) or its beginning, a kind, a number, or a whole request id."
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("title", "works_on"),
                    ("state_badge", "attempts", "lapses"),
                    "shown_error",
                    ("asked_by", "worker"),
                    ("created_at", "finished_at"),
                )
            },
        ),
        (
            "Technical details",
            {
                "fields": (
                    ("kind", "target"),
                    ("lease_until", "fence"),
                    ("not_before", "rung_at"),
                    ("source", "share", "turn"),
                    "request_id",
                ),
                "classes": ("collapse",),
            },
        ),
    )
    acts = {
        "retry": Act(
            "Retry selected jobs",
            "jobs.retry_job",
            _each(queue.retry, "Queued again"),
            button="Retry",
            offered=lambda job: job.state in (State.FAILED, State.CANCELLED),
        ),
        "cancel": Act(
            "Cancel selected jobs",
            "jobs.cancel_job",
            _each(queue.cancel, "Cancelled"),
            button="Cancel",
            offered=lambda job: job.state in WORKING,
        ),
    }
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

    def search_condition(self, word: str) -> Q:
        return targets.search_condition(word)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        page = super().get_changelist_instance(request)
        page.result_list = targets.attach(page.result_list)
        return page

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        people = get_user_model()._default_manager.filter(pk=OuterRef("created_by_id"))  # noqa: SLF001  # Django's public name for it
        return super().get_queryset(request).annotate(asker=Subquery(people.values("username")[:1]))

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Job | None:
        job = super().get_object(request, object_id, from_field)
        return targets.attach([job])[0] if job is not None else None

    title = Column("job", str, order="kind")

    @admin.display(description="works on")
    def works_on(self, job: Job) -> str:
        if job.row is None:
            return "gone"
        return row_link(job.row)

    @admin.display(description="requested by")
    def asked_by(self, job: Any) -> str:
        if job.created_by_id is None:
            return "Larder"
        return job.asker or f"account {job.created_by_id}, erased"

    state_badge = Column("state", lambda job: badge(job.state), order="state")

    @admin.display(description="age", ordering="created_at")
    def age(self, job: Job) -> str:
        until = timezone.now() if job.state in WORKING else job.finished_at
        return timesince(job.created_at, until, depth=1)

    shown_error = Column("error", lambda job: format_html("<pre>{}</pre>", job.error) if job.error else "None")
