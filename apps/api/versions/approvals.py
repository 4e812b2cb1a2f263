"""/api/v1/approvals: what awaits the caller's approval; and /api/v1/releases/<id>/approval, …/approve, …/decline."""

from http import HTTPStatus
from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, DictField, JSONField, ListField

from apps.api.frame import shapes
from apps.api.frame.base import ListView, listed, operation, shown
from apps.api.frame.shapes import DigestField, MomentField, With, of_release, page
from apps.api.versions.releases import ReleaseRow, ReleaseView
from apps.lib.errors import NotFound
from apps.releases.models import Release, ReleaseQuerySet
from apps.releases.origin.models import Approval
from apps.releases.publishing import approving, deciding

_UNUSUAL = "Differences from earlier releases, as sentences."


class AwaitingRow(ReleaseRow):
    by = CharField(
        source="created_by.shown_name", allow_null=True, help_text="Who started it; null if the person was erased."
    )
    digest = DigestField(source="approval.digest", help_text="Send this digest to approve or decline the release.")
    asked_at = MomentField(source="approval.asked_at")
    until = MomentField(source="approval.until")
    unusual = ListField(child=CharField(), source="approval.unusual", help_text=_UNUSUAL)


class ApprovalDetails(shapes.Approval):
    needs_two = BooleanField(help_text="Whether two people must approve it.")
    first_by = CharField(source="first_by.shown_name", allow_null=True, help_text="First of two approvers.")
    decided_by = CharField(source="decided_by.shown_name", allow_null=True)
    has_second_factor = BooleanField(help_text="Whether the decision requires it.")
    reason = CharField(help_text="Why it was declined, or empty.")
    unusual = ListField(child=CharField(), help_text=_UNUSUAL)
    comparison = DictField(
        child=JSONField(),
        help_text="The previous version (`against`, empty for the first one) and the differences from it.",
    )
    refusal = CharField(allow_null=True, help_text="Why the caller cannot decide, and whom to ask. null if they can.")


class DecisionInput(serializers.Serializer[Any]):
    digest = serializers.CharField(max_length=80, help_text="sha256:… of the release that you reviewed.")


class DeclineInput(DecisionInput):
    reason = serializers.CharField(max_length=approving.LONGEST_REASON, help_text="Shown to the author.")


class ApprovalList(ListView):
    """The oldest first. Not those in which the caller took part, as their author or behind a machine."""

    get = listed("List the releases that await your approval", page("AwaitingPage", releases=AwaitingRow(many=True)))

    def rows(self) -> ReleaseQuerySet:
        return approving.waiting_for(self.viewer)


class ApprovalDetail(ReleaseView):
    get = shown("Show what an approver of a release reviews", ApprovalDetails, scope="publish")

    def row(self, public_id: str) -> With:
        release = self.release(public_id)
        approval = Approval.objects.select_related("decided_by", "first_by").filter(release=release).first()
        if approval is None:
            raise NotFound(
                f"{release} needs no approval.", hint="Its namespace did not require one when it was checked."
            )
        refusal = deciding.refusal_of(release, self.viewer)
        return With(approval, refusal=None if refusal is None else f"{refusal} {refusal.hint}")


class ReleaseApprove(ReleaseView):
    @operation("Approve a release", takes=DecisionInput, answers={202: shapes.Release}, again="409.", scope="publish")
    def post(self, request: Request, public_id: str) -> Response:  # noqa: ARG002
        """Larder then publishes it, or waits for a second person where two have to approve. 403 for those who took
        part in it; 409 if another digest awaits approval than the one sent.
        """
        release = self.release(public_id)
        approving.approve(release=release, viewer=self.viewer, digest=self.body()["digest"])
        return self.answer(_now(release), HTTPStatus.ACCEPTED)


class ReleaseDecline(ReleaseView):
    @operation("Decline a release", takes=DeclineInput, answers={200: shapes.Release}, again="409.", scope="publish")
    def post(self, request: Request, public_id: str) -> Response:  # noqa: ARG002
        """It is rejected with the reason, and its number is free again."""
        release = self.release(public_id)
        approving.decline(release=release, viewer=self.viewer, **self.body())
        return self.answer(_now(release))


def _now(release: Release) -> With:
    release.refresh_from_db()
    return of_release(release)


urlpatterns = [
    path("approvals", ApprovalList.as_view(), name="approvals"),
    path("releases/<segment:public_id>/approval", ApprovalDetail.as_view(), name="release-approval"),
    path("releases/<segment:public_id>/approve", ReleaseApprove.as_view(), name="release-approve"),
    path("releases/<segment:public_id>/decline", ReleaseDecline.as_view(), name="release-decline"),
]
