"""/api/v1/namespaces/<ns>/grants: roles in a namespace, for its owners; and the transfer of a namespace."""

from http import HTTPStatus
from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts import namespaces
from apps.accounts.access import gate
from apps.accounts.models import Grant, Namespace, Role
from apps.accounts.people import accounts, teams
from apps.api.frame import shapes
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_json, validated
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of
from apps.lib.errors import Invalid, NotFound

ROLES = {role.label.lower(): role for role in Role}


class GrantInput(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=list(ROLES))


class TransferInput(serializers.Serializer[Any]):
    """One of each pair. `from_…` names the owner who gives it up; default: the caller's own grant, if any."""

    to_user = serializers.CharField(required=False, max_length=150)
    to_team = serializers.CharField(required=False, max_length=63)
    from_user = serializers.CharField(required=False, max_length=150)
    from_team = serializers.CharField(required=False, max_length=63)
    keep_publisher = serializers.BooleanField(required=False, default=False)


def grant_document(grant: Grant) -> dict[str, Any]:
    grantee = {"team": grant.team.name} if grant.team else {"user": grant.user.username if grant.user else ""}
    return {**grantee, "role": Role(grant.role).label.lower(), "since": grant.given_at.isoformat()}


def grants_document(namespace: Namespace) -> dict[str, Any]:
    return {"grants": [grant_document(grant) for grant in namespaces.grants_in(namespace)]}


class GrantList(ApiView):
    @operation("List the roles in a namespace (owners)", answers={200: shapes.GrantPage}, query=CURSOR, scope="manage")
    def get(self, request: Request, namespace: str) -> Response:
        self.require_token()
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        return Response(page_of(request, "grants", namespaces.grants_in(target), grant_document))


class GrantDetail(ApiView):
    """The role of one user or team. PUT gives or changes it, DELETE withdraws it (204, also if there was none)."""

    http_method_names = ["put", "delete"]

    @operation(
        "Give a role",
        takes=GrantInput,
        answers={200: shapes.Grant},
        again="Changes nothing.",
        scope="manage",
        idempotent=True,
    )
    def put(self, request: Request, namespace: str, user: str = "", team: str = "") -> Response:
        self.require_token()
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        role = ROLES[validated(GrantInput, read_json(request))["role"]]
        grantee = teams.team_named(team) if team else accounts.user_named(user)
        return Response(
            grant_document(namespaces.grant(namespace=target, grantee=grantee, role=role, actor=self.viewer))
        )

    @operation("Withdraw a role", answers={204: None}, again="204.", scope="manage", idempotent=True)
    def delete(self, request: Request, namespace: str, user: str = "", team: str = "") -> Response:  # noqa: ARG002
        self.require_token()
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        named = {"team__name": team} if team else {"user__username": user}
        grant = namespaces.grants_in(target).filter(**named).first()
        if grant is not None:
            namespaces.withdraw(grant=grant, actor=self.viewer)
        return Response(status=HTTPStatus.NO_CONTENT)


class Transfer(ApiView):
    http_method_names = ["post"]

    @operation(
        "Transfer a namespace",
        takes=TransferInput,
        answers={200: shapes.Grants},
        again="403 to an owner who gave it up, 409 if `from_…` did.",
        scope="manage",
    )
    def post(self, request: Request, namespace: str) -> Response:
        self.require_token()
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        wanted = validated(TransferInput, read_json(request))
        if ("to_user" in wanted) == ("to_team" in wanted):
            raise Invalid("A namespace goes to one new owner.", hint="Send either to_user or to_team.")
        new_owner = (
            accounts.user_named(wanted["to_user"]) if "to_user" in wanted else teams.team_named(wanted["to_team"])
        )
        namespaces.transfer(
            namespace=target,
            to=new_owner,
            actor=self.viewer,
            giver=self._giver(target, wanted),
            keep_publisher=wanted["keep_publisher"],
        )
        return Response(grants_document(target))

    def _giver(self, namespace: Namespace, wanted: dict[str, Any]) -> Grant | None:
        names = {"user__username": wanted.get("from_user"), "team__name": wanted.get("from_team")}
        named = {field: name for field, name in names.items() if name is not None}
        if not named:
            return namespaces.own_grant(namespace, self.viewer)
        if len(named) > 1:
            raise Invalid("One owner is replaced at a time.", hint="Send either from_user or from_team.")
        grant = namespaces.grants_in(namespace).filter(role=Role.OWNER, **named).first()
        if grant is None:
            raise NotFound(f"{next(iter(named.values()))} does not own it.", hint="Check its grants.")
        return grant


urlpatterns = [
    path("namespaces/<segment:namespace>/grants", GrantList.as_view(), name="grants"),
    path("namespaces/<segment:namespace>/grants/users/<segment:user>", GrantDetail.as_view(), name="grant-user"),
    path("namespaces/<segment:namespace>/grants/teams/<segment:team>", GrantDetail.as_view(), name="grant-team"),
    path("namespaces/<segment:namespace>/transfer", Transfer.as_view(), name="namespace-transfer"),
]
