"""/api/v1/users: accounts, for staff: found, deactivated and activated; their sessions, ended. `tokens` has the rest.

Rights of operators are given in the admin alone: a stolen token must not make more of them.
"""

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ListField

from apps.accounts import models
from apps.accounts.access import operators
from apps.accounts.identity import sessions
from apps.accounts.people import accounts, service_accounts
from apps.api.frame.base import DetailView, ListView, listed, operation, shown
from apps.api.frame.shapes import Connection, MomentField, Shape, With, page
from apps.lib.errors import Invalid

_FLAGS = {"active": "is_active", "staff": "is_staff", "machine": "is_service"}


class UserInput(serializers.Serializer[Any]):
    active = serializers.BooleanField()


class UserRow(Shape):
    # Of a row of `service_accounts.with_warnings` with its groups.
    user = CharField(source="username")
    name = CharField(source="get_full_name")
    active = BooleanField(source="is_active")
    staff = BooleanField(source="is_staff")
    superuser = BooleanField(source="is_superuser")
    roles = ListField(child=CharField(), help_text="Operator or Auditor.")
    machine = BooleanField(source="is_service", help_text="A service account.")
    team = CharField(source="service_of.name", allow_null=True, help_text="Service account that created it.")
    may_manage = BooleanField(help_text="Allows the service account tokens of scope manage.")
    warning = CharField(help_text="For people: a warning about this service account, or empty.")
    erased = BooleanField(source="is_erased")
    joined_at = MomentField(source="date_joined")
    signed_in_at = MomentField(source="last_login", allow_null=True)

    def roles_of(self, user: models.User) -> list[str]:
        return sorted(group.name for group in user.groups.all())


class User(UserRow):
    only_owner_of = ListField(child=CharField(), help_text="Namespaces without another active owner.")
    only_manager_of = ListField(child=CharField(), help_text="Teams without another active manager.")


class ChangedUser(User):
    left_behind = Connection(
        many=True, help_text="Connections that the person leaves behind, in namespaces that the caller owns."
    )


class UserList(ListView):
    """By user name: people and service accounts, deactivated ones included."""

    get = listed(
        "List accounts (staff)",
        page("UserPage", users=UserRow(many=True)),
        query={
            "q": "The start of a user name.",
            "active": "Active or deactivated accounts.",
            "staff": "true: operators and auditors. false: everyone else.",
            "machine": "true: service accounts. false: people.",
        },
        choices=dict.fromkeys(_FLAGS, ("true", "false")),
        scope="manage",
    )

    def rows(self) -> QuerySet[models.User]:
        operators.require_everywhere(self.viewer, "accounts.view_user")
        rows = models.User.objects.filter(username__startswith=self.text("q"))
        for flag, column in _FLAGS.items():
            text = self.text(flag)
            if text not in ("", "true", "false"):
                raise Invalid(f"{flag} is {text!a}, expected true or false.", hint="Leave it out for both.")
            if text:
                rows = rows.filter(**{column: text == "true"})
        return _rows(rows).order_by("username")


class UserView(DetailView):
    def account(self, user: str, *, permission: str) -> models.User:
        operators.require_everywhere(self.viewer, permission)
        return accounts.account_named(user)


class UserDetail(UserView):
    get = shown("Show an account (staff)", User, scope="manage")

    def row(self, user: str) -> With:
        return _with_charges(self.account(user, permission="accounts.view_user"))

    @operation(
        "Deactivate or activate an account (staff)",
        takes=UserInput,
        answers={200: ChangedUser},
        again="Changes nothing.",
    )
    def patch(self, request: Request, user: str) -> Response:  # noqa: ARG002
        """A deactivated account loses its sessions, tokens and open invitations at once."""
        row = self.account(user, permission="accounts.change_user")
        active = self.body()["active"]
        left = accounts.set_active(user=row, actor=self.viewer, is_active=active)
        return self.answer(With(_with_charges(accounts.account_named(user)), left_behind=left))


class UserSessions(UserView):
    @operation("Sign a person out everywhere (staff)", answers={204: None}, again="204.")
    def delete(self, request: Request, user: str) -> Response:  # noqa: ARG002
        """Their tokens stay."""
        sessions.end_for(user=self.account(user, permission="accounts.change_user"), actor=self.viewer)
        return self.answer(status=HTTPStatus.NO_CONTENT)


def _rows(users: QuerySet[models.User]) -> QuerySet[models.User]:
    return service_accounts.with_warnings(users).select_related("service_of").prefetch_related("groups")


def _with_charges(user: models.User) -> With:
    """Return the user with what would have no owner without this person."""
    behind = accounts.left_behind(user)
    return With(
        _rows(models.User.objects.filter(pk=user.pk)).get(),
        only_owner_of=behind.namespaces,
        only_manager_of=behind.teams,
    )


urlpatterns = [
    path("users", UserList.as_view(), name="users"),
    path("users/<segment:user>", UserDetail.as_view(), name="user"),
    path("users/<segment:user>/sessions", UserSessions.as_view(), name="user-sessions"),
]
