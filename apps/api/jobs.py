"""/api/v1/jobs: the list of work, for staff: what waits, runs or failed; and to retry or cancel it."""

from django.db.models import OuterRef, Subquery
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, ChoiceField, IntegerField

from apps.accounts.access import operators
from apps.accounts.models import User
from apps.api.frame.base import CURSOR, ApiView, DetailView, operation, page_of, shown
from apps.api.frame.shapes import MomentField, Shape, page
from apps.jobs import models, queue, targets
from apps.jobs.models import JobQuerySet, State
from apps.lib.errors import Invalid, NotFound


class Job(Shape):
    # Of a job of `_jobs`, with its `row` attached.
    id = IntegerField(source="pk")
    kind = CharField()
    target = CharField(source="row", allow_null=True, help_text="The object of the job; null if it was deleted.")
    state = ChoiceField(choices=State.values)
    attempts = IntegerField()
    worker = CharField(help_text="The last worker that claimed it, or empty.")
    error = CharField(help_text="The log of the last failure, or empty.")
    by = CharField(source="asker", allow_null=True, help_text="Who requested it; null for Larder.")
    request_id = CharField()
    bulk_source = CharField(source="source", help_text="Bulk operation that created it, such as git 12, or empty.")
    created_at = MomentField()
    not_before = MomentField(allow_null=True, help_text="A service was unavailable; the job waits until this time.")
    finished_at = MomentField(allow_null=True)


JobPage = page("JobPage", jobs=Job(many=True))


def _jobs() -> JobQuerySet:
    return models.Job.objects.annotate(
        asker=Subquery(User.objects.filter(pk=OuterRef("created_by_id")).values("username")[:1])
    )


class JobList(ApiView):
    """The newest first."""

    @operation(
        "List jobs (staff)",
        answers={200: JobPage},
        query={
            "state": "Return only these.",
            "kind": "Only this kind, such as publish-module.",
            "q": "An address or its beginning, a kind, the number of a target, or a whole request id.",
        }
        | CURSOR,
        choices={"state": State.values},
        scope="manage",
    )
    def get(self, request: Request) -> Response:
        operators.require_everywhere(self.viewer, "jobs.view_job")
        state = self.text("state")
        if state and state not in State.values:
            raise Invalid(f"There is no state {state!a}.", hint=f"Ask for {', '.join(State.values)}.")
        wanted = {"state": state, "kind": self.text("kind")}
        rows = _jobs().filter(**{field: value for field, value in wanted.items() if value})
        for word in self.text("q").split():
            rows = rows.filter(targets.search_condition(word))
        found, following = page_of(request, rows.newest_first())
        return self.answer({"jobs": targets.attach(found), "next": following})


class JobView(DetailView):
    def row(self, job_id: int, permission: str = "jobs.view_job") -> models.Job:
        operators.require_everywhere(self.viewer, permission)
        found = targets.attach(_jobs().filter(pk=job_id))
        if not found:
            raise NotFound(f"There is no job {job_id}.", hint="Old jobs are deleted; the list has the remaining ones.")
        return found[0]


class JobDetail(JobView):
    get = shown("Show a job (staff)", Job, scope="manage")


class JobRetry(JobView):
    @operation("Retry a failed or cancelled job (staff)", answers={200: Job}, again="409.")
    def post(self, request: Request, job_id: int) -> Response:  # noqa: ARG002
        """It has all its attempts again."""
        queue.retry(self.row(job_id, "jobs.retry_job"), self.viewer.user_id, self.viewer.token_id)
        return self.answer(self.row(job_id, "jobs.retry_job"))


class JobCancel(JobView):
    @operation("Cancel a queued or running job (staff)", answers={200: Job}, again="409.")
    def post(self, request: Request, job_id: int) -> Response:  # noqa: ARG002
        """For good; a worker that runs it stops at its next step."""
        queue.cancel(self.row(job_id, "jobs.cancel_job"), self.viewer.user_id, self.viewer.token_id)
        return self.answer(self.row(job_id, "jobs.cancel_job"))


urlpatterns = [
    path("jobs", JobList.as_view(), name="jobs"),
    path("jobs/<int:job_id>", JobDetail.as_view(), name="job"),
    path("jobs/<int:job_id>/retry", JobRetry.as_view(), name="job-retry"),
    path("jobs/<int:job_id>/cancel", JobCancel.as_view(), name="job-cancel"),
]
