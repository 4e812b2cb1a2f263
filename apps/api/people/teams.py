"""/api/v1/teams, /api/v1/teams/<team> and its members. Hidden teams are 404, like missing ones."""

from collections.abc import Collection, Iterator
from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, IntegerField

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Role
from apps.accounts.models import Team as TeamRow
from apps.accounts.people import accounts, teams
from apps.api.frame.base import DRY_RUN, ApiView, DetailView, ListView, listed, operation, shown
from apps.api.frame.shapes import Consequences, LeftBehind, RoleField, Shape, With, page
from apps.api.people.connections import answer_left
from apps.lib.errors import NotFound, RoleRequired
from apps.releases.lifecycle.access_impact import of_membership, of_team


class TeamInput(serializers.Serializer[Any]):
    description = serializers.CharField(required=False, allow_blank=True, max_length=200)


class MemberInput(serializers.Serializer[Any]):
    manager = serializers.BooleanField(required=False)


class Member(Shape):
    user = CharField(source="user.username")
    manager = BooleanField(source="is_manager")
    active = BooleanField(source="user.is_active")


class TeamRole(Shape):
    name = CharField(source="namespace.name")
    role = RoleField()


class Team(Shape):
    # Of `_with_people`.
    name = CharField()
    description = CharField()
    members = Member(many=True)
    namespaces = TeamRole(many=True, help_text="Those that the caller can see.")


class TeamListRow(Shape):
    # Of a row of `teams.listed`.
    name = CharField()
    description = CharField()
    people = IntegerField(help_text="Active members, without service accounts.")
    member = BooleanField(source="is_mine", help_text="Whether the caller is a member.")
    manager = BooleanField(source="is_managed", help_text="Whether the caller is a manager.")


class TeamList(ListView):
    """Those that the caller sees, by name: all for staff; none with a token that has limits."""

    get = listed(
        "List the teams that the caller can see",
        page("TeamPage", teams=TeamListRow(many=True)),
        query={"q": "A word in the name."},
    )

    def rows(self) -> QuerySet[TeamRow]:
        rows = teams.listed(self.viewer).order_by("name")
        for word in self.text("q").split():
            rows = rows.filter(name__icontains=word)
        return rows


class TeamDetail(DetailView):
    get = shown("Show a team", Team)

    def row(self, team: str) -> With:
        return _with_people(gate.team_for(self.viewer, team), self.viewer)

    @operation(
        "Create or change a team",
        takes=TeamInput,
        answers={200: Team, 201: Team},
        again="Applies the same change again.",
    )
    def put(self, request: Request, team: str) -> Response:  # noqa: ARG002
        """201 if created (the caller manages it), 200 if it existed."""
        try:
            gate.team_for(self.viewer, team)
        except NotFound:
            created = teams.create(name=team, actor=self.viewer, **self.body())
            return self.answer(_with_people(created, self.viewer), HTTPStatus.CREATED)
        target = gate.team_for(self.viewer, team, manage=True)
        wanted = self.body()
        if "description" in wanted:
            teams.describe(team=target, description=wanted["description"], actor=self.viewer)
        return self.answer(_with_people(target, self.viewer))

    @operation("Delete a team", answers={200: (LeftBehind, Consequences), 204: None}, query=DRY_RUN, again="404.")
    def delete(self, request: Request, team: str) -> Response:  # noqa: ARG002
        """200 if connections are left behind in namespaces that the caller owned, and with `dry_run`; else 204."""
        row = gate.team_for(self.viewer, team, manage=True)
        if self.is_dry_run():
            return self.answer(of_team(self.viewer, row), shape=Consequences)
        left = teams.delete(team=row, actor=self.viewer)
        return answer_left(self, left)


class MemberDetail(ApiView):
    """PUT adds a member, and sets or clears `manager` if the body has it; DELETE removes them."""

    @operation(
        "Add or change a member", takes=MemberInput, answers={200: Member}, again="Applies the same change again."
    )
    def put(self, request: Request, team: str, user: str) -> Response:  # noqa: ARG002
        target = gate.team_for(self.viewer, team, manage=True)
        wanted = self.body()
        membership = teams.add(team=target, user=accounts.user_named(user), actor=self.viewer)
        if "manager" in wanted:
            teams.set_manager(membership=membership, is_manager=wanted["manager"], actor=self.viewer)
        return self.answer(membership)

    @operation("Remove a member", answers={200: (LeftBehind, Consequences), 204: None}, query=DRY_RUN, again="204.")
    def delete(self, request: Request, team: str, user: str) -> Response:  # noqa: ARG002
        """Every member may leave. 200 if connections are left behind in namespaces that the caller owned, and with
        `dry_run`; else 204.
        """
        leaves = self.viewer.user is not None and self.viewer.user.username == user
        target = gate.team_for(self.viewer, team, manage=not leaves)
        if leaves and self.viewer.token and self.viewer.token.scope != "manage":
            raise RoleRequired("Leaving a team needs a token with the scope manage.", hint="Use one, or the page.")
        membership = teams.members_of(target).filter(user__username=user).select_related("team").first()
        if self.is_dry_run():
            return self.answer(of_membership(self.viewer, membership), shape=Consequences)
        left = teams.remove(membership=membership, actor=self.viewer) if membership is not None else []
        return answer_left(self, left)


def described(names: Collection[str] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields of teams for files that describe them."""
    rows = TeamRow.objects.order_by("name") if names is None else TeamRow.objects.filter(name__in=names)
    for name, description in rows.values_list("name", "description").iterator():
        yield name, {"name": name, "description": description}


def members(names: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = teams.people_in().filter(team__name__in=names)
    for team, user, manager in rows.values_list("team__name", "user__username", "is_manager").iterator():
        yield team, {"user": user, "manager": manager}


def roles(names: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = Grant.objects.filter(team__name__in=names, namespace__deleted_at=None).order_by("namespace__name", "pk")
    for team, namespace, role in rows.values_list("team__name", "namespace__name", "role").iterator():
        yield team, {"namespace": namespace, "role": Role(role).label.lower()}


def _with_people(team: TeamRow, viewer: Viewer) -> With:
    """`namespaces` are those that the viewer sees."""
    return With(team, members=list(teams.members_of(team)), namespaces=list(teams.roles_of(team, seen_by=viewer)))


urlpatterns = [
    path("teams", TeamList.as_view(), name="teams"),
    path("teams/<segment:team>", TeamDetail.as_view(), name="team"),
    path("teams/<segment:team>/members/<segment:user>", MemberDetail.as_view(), name="team-member"),
]
