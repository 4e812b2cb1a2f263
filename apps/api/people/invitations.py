"""/api/v1/invitations: one-time links for new people, made by owners for their namespaces and by operators."""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate, throttling
from apps.accounts.models import Invitation, Role
from apps.accounts.people import invitations
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_json, validated
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of
from apps.api.people import answers
from apps.api.people.grants import ROLES
from apps.lib.errors import Invalid, RoleRequired
from apps.notify.mail import letters
from apps.releases.catalogue.documents import moment


class InvitationInput(serializers.Serializer[Any]):
    note = serializers.CharField(max_length=120, help_text="Who it is for; they do not see it.")
    namespace = serializers.CharField(required=False, help_text="Left out by operators: an account without a role.")
    role = serializers.ChoiceField(required=False, choices=list(ROLES))
    email = serializers.EmailField(required=False, help_text="Larder mails the link there as well.")


def invitation_document(invitation: Invitation) -> dict[str, Any]:
    return {
        "id": invitation.pk,
        "note": invitation.note,
        "state": _state(invitation),
        "namespace": invitation.namespace.name if invitation.namespace else None,
        "role": Role(invitation.role).label.lower() if invitation.role else None,
        "by": invitation.created_by.shown_name if invitation.created_by else None,
        "created_at": moment(invitation.created_at),
        "expires_at": moment(invitation.expires_at),
        "revoked_at": moment(invitation.revoked_at),
        "used_at": moment(invitation.used_at),
        "used_by": invitation.used_by.shown_name if invitation.used_by else None,
    }


def _state(invitation: Invitation) -> str:
    if invitation.used_at:
        return "used"
    if invitation.revoked_at:
        return "revoked"
    return "open" if invitation.expires_at > timezone.now() else "expired"


class InvitationList(ApiView):
    """All for operators; owners have those into their namespaces."""

    http_method_names = ["get", "head", "post"]

    @operation("List invitations", answers={200: answers.InvitationPage}, query=CURSOR, scope="manage")
    def get(self, request: Request) -> Response:
        self.require_token()
        return Response(page_of(request, "invitations", invitations.managed(self.viewer), invitation_document))

    @operation(
        "Invite a person",
        takes=InvitationInput,
        answers={201: answers.NewInvitation},
        again="Invites once more.",
        scope="manage",
    )
    @sensitive_variables("secret", "link")
    def post(self, request: Request) -> Response:
        """`link` is in this answer alone. Who opens it chooses a name and a password."""
        self.require_token()
        invitations.inviting(self.viewer)  # before the body is read
        wanted = validated(InvitationInput, read_json(request))
        if ("namespace" in wanted) != ("role" in wanted):
            raise Invalid("An invitation names a namespace and a role, or neither.", hint="Send both, or none.")
        throttling.count(throttling.by_account("invitations", self.viewer.user_id, ""))
        invitation, secret = invitations.invite(actor=self.viewer, note=wanted["note"], **self._role(wanted))
        link = settings.PUBLIC_URL + reverse("portal:invitation", args=[secret])
        if "email" in wanted:
            letters.invite(invitation=invitation, address=wanted["email"], link=link)
        document = invitation_document(invitation) | {"link": link}
        return Response(document, status=HTTPStatus.CREATED, headers={"Cache-Control": "no-store"})

    def _role(self, wanted: dict[str, Any]) -> dict[str, Any]:
        if "namespace" in wanted:
            namespace = gate.namespace_for(self.viewer, wanted["namespace"], need=Role.OWNER)
            return {"namespace": namespace, "role": ROLES[wanted["role"]]}
        if not invitations.invites_anywhere(self.viewer):
            raise RoleRequired("Only operators invite without a role.", hint="Name a namespace of yours and a role.")
        return {}


class InvitationDetail(ApiView):
    http_method_names = ["get", "head", "delete"]

    @operation("Show an invitation", answers={200: answers.Invitation}, scope="manage")
    def get(self, request: Request, invitation_id: int) -> Response:  # noqa: ARG002
        self.require_token()
        return Response(invitation_document(invitations.managed_one(self.viewer, invitation_id)))

    @operation("Revoke an invitation", answers={204: None}, again="204.", scope="manage", idempotent=True)
    def delete(self, request: Request, invitation_id: int) -> Response:  # noqa: ARG002
        """Its link opens nothing from then on; one that was used stays used."""
        self.require_token()
        invitation = invitations.managed_one(self.viewer, invitation_id)
        invitations.revoke(invitation=invitation, actor=self.viewer)
        return Response(status=HTTPStatus.NO_CONTENT)


urlpatterns = [
    path("invitations", InvitationList.as_view(), name="invitations"),
    path("invitations/<int:invitation_id>", InvitationDetail.as_view(), name="invitation"),
]
