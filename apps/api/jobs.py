"""/api/v1/jobs: the list of work, for staff: what waits, runs or failed; and to retry or cancel it."""

from typing import Any

from django.db.models import OuterRef, Subquery
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import operators
from apps.accounts.models import User
from apps.api.frame import shapes
from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of, text_of
from apps.jobs import queue, targets
from apps.jobs.models import Job, JobQuerySet, State
from apps.lib.errors import Invalid, NotFound
from apps.releases.catalogue.documents import moment

_QUERY = {
    "state": "Only these.",
    "kind": "Only this kind, such as publish-module.",
    "q": "An address or its beginning, a kind, the number of a target, or a whole request id.",
} | CURSOR


def job_document(job: Any) -> dict[str, Any]:
    """One job of `_jobs`, with its `row` attached."""
    return {
        "id": job.pk,
        "kind": job.kind,
        "target": None if job.row is None else str(job.row),
        "state": job.state,
        "attempts": job.attempts,
        "worker": job.worker,
        "error": job.error,
        "by": job.asker,
        "request_id": job.request_id,
        "created_at": moment(job.created_at),
        "not_before": moment(job.not_before),
        "finished_at": moment(job.finished_at),
    }


def _jobs() -> JobQuerySet:
    return Job.objects.annotate(
        asker=Subquery(User.objects.filter(pk=OuterRef("created_by_id")).values("username")[:1])
    )


def _job(number: int) -> Job:
    found = targets.attach(_jobs().filter(pk=number))
    if not found:
        raise NotFound(f"There is no job {number}.", hint="Old jobs are deleted; the list has the others.")
    return found[0]


class JobList(ApiView):
    """The newest first."""

    http_method_names = ["get", "head"]

    @operation(
        "List jobs (staff)",
        answers={200: shapes.JobPage},
        query=_QUERY,
        choices={"state": State.values},
        scope="manage",
    )
    def get(self, request: Request) -> Response:
        self.require_token()
        operators.require_everywhere(self.viewer, "jobs.view_job")
        rows, state, kind = _jobs(), text_of(request, "state"), text_of(request, "kind")
        if state and state not in State.values:
            raise Invalid(f"There is no state {state!a}.", hint=f"Ask for {', '.join(State.values)}.")
        wanted = {"state": state, "kind": kind}
        rows = rows.filter(**{field: value for field, value in wanted.items() if value})
        for word in text_of(request, "q").split():
            rows = rows.filter(targets.search_condition(word))
        page = page_of(request, "jobs", rows.newest_first(), lambda job: job)
        return Response(page | {"jobs": [job_document(job) for job in targets.attach(page["jobs"])]})


class JobDetail(ApiView):
    http_method_names = ["get", "head"]

    @operation("Show a job (staff)", answers={200: shapes.Job}, scope="manage")
    def get(self, request: Request, job_id: int) -> Response:  # noqa: ARG002
        self.require_token()
        operators.require_everywhere(self.viewer, "jobs.view_job")
        return Response(job_document(_job(job_id)))


class JobRetry(ApiView):
    http_method_names = ["post"]

    @operation("Retry a failed or cancelled job (staff)", answers={200: shapes.Job}, again="409.", scope="manage")
    def post(self, request: Request, job_id: int) -> Response:  # noqa: ARG002
        """It has all its attempts again."""
        self.require_token()
        operators.require_everywhere(self.viewer, "jobs.retry_job")
        queue.retry(_job(job_id), self.viewer.user_id, self.viewer.token_id)
        return Response(job_document(_job(job_id)))


class JobCancel(ApiView):
    http_method_names = ["post"]

    @operation("Cancel a queued or running job (staff)", answers={200: shapes.Job}, again="409.", scope="manage")
    def post(self, request: Request, job_id: int) -> Response:  # noqa: ARG002
        """For good; a worker that runs it stops at its next step."""
        self.require_token()
        operators.require_everywhere(self.viewer, "jobs.cancel_job")
        queue.cancel(_job(job_id), self.viewer.user_id, self.viewer.token_id)
        return Response(job_document(_job(job_id)))


urlpatterns = [
    path("jobs", JobList.as_view(), name="jobs"),
    path("jobs/<int:job_id>", JobDetail.as_view(), name="job"),
    path("jobs/<int:job_id>/retry", JobRetry.as_view(), name="job-retry"),
    path("jobs/<int:job_id>/cancel", JobCancel.as_view(), name="job-cancel"),
]
