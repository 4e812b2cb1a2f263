"""/api/v1/namespaces/<ns>/grants: roles in a namespace, for its owners; and the transfer of a namespace."""

from collections.abc import Collection, Iterator
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField

from apps.accounts import namespaces
from apps.accounts.access import connections, gate
from apps.accounts.models import Grant as GrantRow
from apps.accounts.models import Namespace, Role
from apps.accounts.people import accounts, teams
from apps.api.frame.base import DRY_RUN, ApiView, ListView, listed, operation
from apps.api.frame.shapes import (
    ROLES,
    Connection,
    Consequences,
    LeftBehind,
    OffsetField,
    RoleField,
    Shape,
    With,
    page,
)
from apps.api.people.connections import answer_left
from apps.lib.errors import Invalid, NotFound
from apps.releases.lifecycle.access_impact import of_grant


class GrantInput(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=list(ROLES))


class TransferInput(serializers.Serializer[Any]):
    """Name one of each pair. `from_…` is the owner who gives up the role; default: the caller, if they have it."""

    to_user = serializers.CharField(required=False, max_length=150)
    to_team = serializers.CharField(required=False, max_length=63)
    from_user = serializers.CharField(required=False, max_length=150)
    from_team = serializers.CharField(required=False, max_length=63)
    keep_publisher = serializers.BooleanField(required=False, default=False)


class Grant(Shape):
    user = CharField(source="user.username", required=False, help_text="The name of a user; use `team` for a team.")
    team = CharField(source="team.name", required=False)
    role = RoleField()
    since = OffsetField(source="given_at")


class ChangedGrant(Grant):
    left_behind = Connection(
        many=True,
        help_text="Connections that an owner, or a team of owners, leaves behind with this change. They still work.",
    )


class Transferred(Shape):
    grants = Grant(many=True)
    suspended = Connection(many=True, help_text="Connections that do nothing until an owner confirms them.")


class GrantList(ListView):
    get = listed("List the roles in a namespace (owners)", page("GrantPage", grants=Grant(many=True)), scope="manage")

    def rows(self, namespace: str) -> QuerySet[GrantRow]:
        return namespaces.grants_in(gate.namespace_for(self.viewer, namespace, need=Role.OWNER))


class GrantDetail(ApiView):
    """The role of one user or team. PUT gives or changes it, DELETE withdraws it (204, also if there was none)."""

    @operation("Give a role", takes=GrantInput, answers={200: ChangedGrant}, again="Changes nothing.")
    def put(self, request: Request, namespace: str, user: str = "", team: str = "") -> Response:  # noqa: ARG002
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        role = ROLES[self.body()["role"]]
        grantee = teams.team_named(team) if team else accounts.user_named(user)
        before = self._grant(target, user, team)
        left = connections.would_leave(before) if before is not None and role != Role.OWNER else []
        grant = namespaces.grant(namespace=target, grantee=grantee, role=role, actor=self.viewer)
        return self.answer(With(grant, left_behind=left))

    @operation("Remove a role", answers={200: (LeftBehind, Consequences), 204: None}, query=DRY_RUN, again="204.")
    def delete(self, request: Request, namespace: str, user: str = "", team: str = "") -> Response:  # noqa: ARG002
        """200 if an owner, or a team of owners, leaves connections behind, and with `dry_run`; else 204."""
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        grant = self._grant(target, user, team)
        if self.is_dry_run():
            return self.answer(of_grant(self.viewer, grant), shape=Consequences)
        left = namespaces.withdraw(grant=grant, actor=self.viewer) if grant is not None else []
        return answer_left(self, left)

    def _grant(self, namespace: Namespace, user: str, team: str) -> GrantRow | None:
        named = {"team__name": team} if team else {"user__username": user}
        return namespaces.grants_in(namespace).filter(**named).select_related("namespace").first()


def described(names: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields of the roles in these namespaces for files that describe them."""
    rows = namespaces.grants().filter(namespace__name__in=names)
    columns = ("namespace__name", "user__username", "team__name", "role")
    for namespace, user, team, role in rows.values_list(*columns).iterator():
        yield namespace, ({"user": user} if user else {"team": team}) | {"role": Role(role).label.lower()}


class Transfer(ApiView):
    @operation(
        "Transfer a namespace",
        takes=TransferInput,
        answers={200: Transferred},
        again="403 if the caller gave up the role, 409 if the owner named in `from_…` did.",
    )
    def post(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        """Transfer; connections of people who are no owners afterwards are suspended until the new owner confirms
        each.
        """
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        wanted = self.body()
        if ("to_user" in wanted) == ("to_team" in wanted):
            raise Invalid("A namespace goes to one new owner.", hint="Send either to_user or to_team.")
        new_owner = (
            accounts.user_named(wanted["to_user"]) if "to_user" in wanted else teams.team_named(wanted["to_team"])
        )
        names = {"user__username": wanted.get("from_user"), "team__name": wanted.get("from_team")}
        named = {field: name for field, name in names.items() if name is not None}
        if len(named) > 1:
            raise Invalid("One owner is replaced at a time.", hint="Send either from_user or from_team.")
        if named:
            giver = namespaces.grants_in(target).filter(role=Role.OWNER, **named).first()
            if giver is None:
                raise NotFound(f"{next(iter(named.values()))} does not own it.", hint="Check its grants.")
        else:
            giver = namespaces.own_grant(target, self.viewer)
        keep = wanted["keep_publisher"]
        namespaces.transfer(namespace=target, to=new_owner, actor=self.viewer, giver=giver, keep_publisher=keep)
        answer = {"grants": namespaces.grants_in(target), "suspended": connections.waiting_in(target)}
        return self.answer(answer)


urlpatterns = [
    path("namespaces/<segment:namespace>/grants", GrantList.as_view(), name="grants"),
    path("namespaces/<segment:namespace>/grants/users/<segment:user>", GrantDetail.as_view(), name="grant-user"),
    path("namespaces/<segment:namespace>/grants/teams/<segment:team>", GrantDetail.as_view(), name="grant-team"),
    path("namespaces/<segment:namespace>/transfer", Transfer.as_view(), name="namespace-transfer"),
]
