"""/api/v1/teams, /api/v1/teams/<team> and its members. Hidden teams are 404, like missing ones."""

from http import HTTPStatus
from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Membership, Role, Team
from apps.accounts.people import accounts, teams
from apps.api.frame import shapes
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_json, validated
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of, text_of
from apps.lib.errors import NotFound, RoleRequired


class TeamInput(serializers.Serializer[Any]):
    description = serializers.CharField(required=False, allow_blank=True, max_length=200)


class MemberInput(serializers.Serializer[Any]):
    manager = serializers.BooleanField(required=False)


def team_document(team: Team, viewer: Viewer) -> dict[str, Any]:
    """`namespaces` are those that the viewer sees."""
    return {
        "name": team.name,
        "description": team.description,
        "members": [member_document(membership) for membership in teams.members_of(team)],
        "namespaces": [
            {"name": grant.namespace.name, "role": Role(grant.role).label.lower()}
            for grant in teams.roles_of(team, seen_by=viewer)
        ],
    }


def member_document(membership: Membership) -> dict[str, Any]:
    user = membership.user
    return {"user": user.username, "manager": membership.is_manager, "active": user.is_active}


def team_row(team: Any) -> dict[str, Any]:
    """A row of `teams.listed`."""
    return {
        "name": team.name,
        "description": team.description,
        "people": team.people,
        "member": team.is_mine,
        "manager": team.is_managed,
    }


class TeamList(ApiView):
    """Those that the caller sees, by name: all for staff; none with a token that has limits."""

    http_method_names = ["get", "head"]

    @operation(
        "List the teams that the caller sees",
        answers={200: shapes.TeamPage},
        query={"q": "A word of the name."} | CURSOR,
    )
    def get(self, request: Request) -> Response:
        self.require_token()
        rows = teams.listed(self.viewer).order_by("name")
        for word in text_of(request, "q").split():
            rows = rows.filter(name__icontains=word)
        return Response(page_of(request, "teams", rows, team_row))


class TeamDetail(ApiView):
    http_method_names = ["get", "head", "put", "delete"]

    @operation("Show a team", answers={200: shapes.Team})
    def get(self, request: Request, team: str) -> Response:  # noqa: ARG002
        self.require_token()
        return Response(team_document(gate.team_for(self.viewer, team), self.viewer))

    @operation(
        "Create or change a team",
        takes=TeamInput,
        answers={200: shapes.Team, 201: shapes.Team},
        again="Changes it to the same.",
        scope="manage",
        idempotent=True,
    )
    def put(self, request: Request, team: str) -> Response:
        """201 if created (the caller manages it), 200 if it existed."""
        self.require_token()
        try:
            gate.team_for(self.viewer, team)
        except NotFound:
            wanted = validated(TeamInput, read_json(request))
            created = teams.create(name=team, actor=self.viewer, **wanted)
            return Response(team_document(created, self.viewer), status=HTTPStatus.CREATED)
        target = gate.team_for(self.viewer, team, manage=True)
        wanted = validated(TeamInput, read_json(request))
        if "description" in wanted:
            teams.describe(team=target, description=wanted["description"], actor=self.viewer)
        return Response(team_document(target, self.viewer))

    @operation("Delete a team", answers={204: None}, again="404.", scope="manage", idempotent=True)
    def delete(self, request: Request, team: str) -> Response:  # noqa: ARG002
        self.require_token()
        teams.delete(team=gate.team_for(self.viewer, team, manage=True), actor=self.viewer)
        return Response(status=HTTPStatus.NO_CONTENT)


class MemberDetail(ApiView):
    """PUT adds a member, and sets or clears `manager` if the body has it; DELETE removes them."""

    http_method_names = ["put", "delete"]

    @operation(
        "Add or change a member",
        takes=MemberInput,
        answers={200: shapes.Member},
        again="Changes it to the same.",
        scope="manage",
        idempotent=True,
    )
    def put(self, request: Request, team: str, user: str) -> Response:
        self.require_token()
        target = gate.team_for(self.viewer, team, manage=True)
        wanted = validated(MemberInput, read_json(request))
        membership = teams.add(team=target, user=accounts.user_named(user), actor=self.viewer)
        if "manager" in wanted:
            teams.set_manager(membership=membership, is_manager=wanted["manager"], actor=self.viewer)
        return Response(member_document(membership))

    @operation("Remove a member", answers={204: None}, again="204.", scope="manage", idempotent=True)
    def delete(self, request: Request, team: str, user: str) -> Response:  # noqa: ARG002
        """Every member may leave."""
        self.require_token()
        leaves = self.viewer.user is not None and self.viewer.user.username == user
        target = gate.team_for(self.viewer, team, manage=not leaves)
        if leaves and self.viewer.token and self.viewer.token.scope != "manage":
            raise RoleRequired("Leaving a team needs a token with the scope manage.", hint="Use one, or the page.")
        membership = teams.members_of(target).filter(user__username=user).first()
        if membership is not None:
            teams.remove(membership=membership, actor=self.viewer)
        return Response(status=HTTPStatus.NO_CONTENT)


urlpatterns = [
    path("teams", TeamList.as_view(), name="teams"),
    path("teams/<segment:team>", TeamDetail.as_view(), name="team"),
    path("teams/<segment:team>/members/<segment:user>", MemberDetail.as_view(), name="team-member"),
]
