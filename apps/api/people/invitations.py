"""/api/v1/invitations: one-time links for new people, made by owners for their namespaces and by operators."""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, ChoiceField, IntegerField

from apps.accounts.access import gate
from apps.accounts.models import Invitation as InvitationRow
from apps.accounts.models import Role
from apps.accounts.people import invitations
from apps.api.frame.base import DetailView, ListView, listed, operation, shown
from apps.api.frame.shapes import ROLES, MomentField, RoleField, Shape, With, page
from apps.lib.errors import Invalid, RoleRequired
from apps.notify.mail import invited, letters


class InvitationInput(serializers.Serializer[Any]):
    note = serializers.CharField(max_length=120, help_text="A note on who it is for. Not shown to them.")
    namespace = serializers.CharField(required=False, help_text="Operators can omit it: the account then has no role.")
    role = serializers.ChoiceField(required=False, choices=list(ROLES))
    email = serializers.EmailField(required=False, help_text="Larder also mails the link there.")


class Invitation(Shape):
    id = IntegerField(source="pk")
    note = CharField()
    state = ChoiceField(choices=["open", "used", "revoked", "expired"])
    namespace = CharField(source="namespace.name", allow_null=True)
    role = RoleField(allow_null=True)
    by = CharField(source="created_by.shown_name", allow_null=True, help_text="null if it was created on the host.")
    created_at = MomentField()
    expires_at = MomentField()
    revoked_at = MomentField(allow_null=True)
    used_at = MomentField(allow_null=True)
    used_by = CharField(source="used_by.shown_name", allow_null=True)

    def state_of(self, invitation: InvitationRow) -> str:
        if invitation.used_at:
            return "used"
        if invitation.revoked_at:
            return "revoked"
        return "open" if invitation.expires_at > timezone.now() else "expired"


class NewInvitation(Invitation):
    link = CharField(help_text="For the invited person. Returned only in this response.")


class InvitationList(ListView):
    """All for operators; owners have those into their namespaces."""

    get = listed("List invitations", page("InvitationPage", invitations=Invitation(many=True)), scope="manage")

    def rows(self) -> QuerySet[InvitationRow]:
        return invitations.managed(self.viewer)

    @operation(
        "Invite a person",
        takes=InvitationInput,
        answers={201: NewInvitation},
        limits=["invitations"],
        again="Creates another invitation.",
    )
    @sensitive_variables("secret", "link")
    def post(self, request: Request) -> Response:  # noqa: ARG002
        """`link` is in this answer alone. Who opens it chooses a name and a password."""
        invitations.inviting(self.viewer)  # before the body is read
        wanted = self.body()
        if ("namespace" in wanted) != ("role" in wanted):
            raise Invalid("An invitation names a namespace and a role, or neither.", hint="Send both, or none.")
        self.count("invitations")
        role: dict[str, Any] = {}
        if "namespace" in wanted:
            namespace = gate.namespace_for(self.viewer, wanted["namespace"], need=Role.OWNER)
            role = {"namespace": namespace, "role": ROLES[wanted["role"]]}
        elif not invitations.invites_anywhere(self.viewer):
            raise RoleRequired("Only operators invite without a role.", hint="Name one of your namespaces and a role.")
        invitation, secret = invitations.invite(actor=self.viewer, note=wanted["note"], **role)
        link = settings.PUBLIC_URL + reverse("portal:invitation", args=[secret])
        if "email" in wanted:
            letters.invite(invitation=invitation, address=wanted["email"], link=link)
            link += f"{invited.SEPARATOR}{invited.suggestion_of(invitation, wanted['email'])}"
        return self.answer(With(invitation, link=link), HTTPStatus.CREATED, headers={"Cache-Control": "no-store"})


class InvitationDetail(DetailView):
    get = shown("Show an invitation", Invitation, scope="manage")

    def row(self, invitation_id: int) -> InvitationRow:
        return invitations.managed_one(self.viewer, invitation_id)

    @operation("Revoke an invitation", answers={204: None}, again="204.")
    def delete(self, request: Request, invitation_id: int) -> Response:  # noqa: ARG002
        """Its link opens nothing from then on; one that was used stays used."""
        invitations.revoke(invitation=self.row(invitation_id), actor=self.viewer)
        return self.answer(status=HTTPStatus.NO_CONTENT)


urlpatterns = [
    path("invitations", InvitationList.as_view(), name="invitations"),
    path("invitations/<int:invitation_id>", InvitationDetail.as_view(), name="invitation"),
]
