"""/api/v1/users: accounts, for staff: found, deactivated and activated; their sessions and tokens, ended.

Rights of operators are given in the admin alone: a stolen token must not make more of them.
"""

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import operators
from apps.accounts.identity import sessions, tokens
from apps.accounts.models import User
from apps.accounts.people import accounts, service_accounts
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_json, validated
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of, text_of
from apps.api.people import answers
from apps.api.people.tokens import END, END_CHOICES, revoked, token_detail, token_page
from apps.lib.errors import Invalid
from apps.releases.catalogue.documents import moment

_FLAGS = {"active": "is_active", "staff": "is_staff", "machine": "is_service"}
_QUERY = {
    "q": "The beginning of a user name.",
    "active": "Not deactivated, or deactivated.",
    "staff": "Operators and auditors, or others.",
    "machine": "Service accounts, or people.",
} | CURSOR
_CHOICES = dict.fromkeys(_FLAGS, ("true", "false"))


class UserInput(serializers.Serializer[Any]):
    active = serializers.BooleanField()


def user_row(user: Any) -> dict[str, Any]:
    """Of a row of `service_accounts.with_warnings`."""
    return {
        "user": user.username,
        "name": user.get_full_name(),
        "active": user.is_active,
        "staff": user.is_staff,
        "superuser": user.is_superuser,
        "roles": sorted(group.name for group in user.groups.all()),
        "machine": user.is_service,
        "team": user.service_of.name if user.service_of else None,
        "may_manage": user.may_manage,
        "warning": user.warning,
        "erased": user.is_erased,
        "joined_at": moment(user.date_joined),
        "signed_in_at": moment(user.last_login),
    }


def user_document(user: User) -> dict[str, Any]:
    """With what nobody would look after without this person."""
    behind = accounts.left_behind(user)
    return user_row(service_accounts.with_warnings(User.objects.filter(pk=user.pk)).get()) | {
        "only_owner_of": [namespace.name for namespace in behind.namespaces],
        "only_manager_of": [team.name for team in behind.teams],
    }


class StaffView(ApiView):
    def account(self, user: str, *, permission: str) -> User:
        self.require_token()
        operators.require_everywhere(self.viewer, permission)
        return accounts.account_named(user)


class UserList(ApiView):
    """By user name: people and service accounts, deactivated ones included."""

    http_method_names = ["get", "head"]

    @operation("List accounts (staff)", answers={200: answers.UserPage}, query=_QUERY, choices=_CHOICES, scope="manage")
    def get(self, request: Request) -> Response:
        self.require_token()
        operators.require_everywhere(self.viewer, "accounts.view_user")
        rows = _filtered(request, User.objects.filter(username__startswith=text_of(request, "q")))
        rows = (
            service_accounts.with_warnings(rows)
            .select_related("service_of")
            .prefetch_related("groups")
            .order_by("username")
        )
        return Response(page_of(request, "users", rows, user_row))


def _filtered(request: Request, rows: QuerySet[User]) -> QuerySet[User]:
    for flag, column in _FLAGS.items():
        text = text_of(request, flag)
        if text not in ("", "true", "false"):
            raise Invalid(f"{flag} is {text!a}, expected true or false.", hint="Leave it out for both.")
        if text:
            rows = rows.filter(**{column: text == "true"})
    return rows


class UserDetail(StaffView):
    http_method_names = ["get", "head", "patch"]

    @operation("Show an account (staff)", answers={200: answers.User}, scope="manage")
    def get(self, request: Request, user: str) -> Response:  # noqa: ARG002
        return Response(user_document(self.account(user, permission="accounts.view_user")))

    @operation(
        "Deactivate or activate an account (staff)",
        takes=UserInput,
        answers={200: answers.User},
        again="Changes nothing.",
        scope="manage",
        idempotent=True,
    )
    def patch(self, request: Request, user: str) -> Response:
        """A deactivated account loses its sessions, tokens and open invitations at once."""
        row = self.account(user, permission="accounts.change_user")
        active = validated(UserInput, read_json(request))["active"]
        accounts.set_active(user=row, actor=self.viewer, is_active=active)
        return Response(user_document(accounts.account_named(user)))


class UserSessions(StaffView):
    http_method_names = ["delete"]

    @operation(
        "Sign a person out everywhere (staff)", answers={204: None}, again="204.", scope="manage", idempotent=True
    )
    def delete(self, request: Request, user: str) -> Response:  # noqa: ARG002
        """Their tokens stay."""
        sessions.end_for(user=self.account(user, permission="accounts.change_user"), actor=self.viewer)
        return Response(status=HTTPStatus.NO_CONTENT)


class UserTokens(StaffView):
    http_method_names = ["get", "head", "delete"]

    @operation("List the tokens of an account (staff)", answers={200: answers.TokenPage}, query=CURSOR, scope="manage")
    def get(self, request: Request, user: str) -> Response:
        return token_page(request, self.account(user, permission="accounts.view_apitoken"))

    @operation(
        "Revoke all tokens of an account (staff)", answers={204: None}, again="204.", scope="manage", idempotent=True
    )
    def delete(self, request: Request, user: str) -> Response:  # noqa: ARG002
        tokens.revoke_all(user=self.account(user, permission="accounts.revoke_apitoken"), actor=self.viewer)
        return Response(status=HTTPStatus.NO_CONTENT)


class UserToken(StaffView):
    http_method_names = ["get", "head", "delete"]

    @operation("Show a token of an account (staff)", answers={200: answers.TokenDetail}, scope="manage")
    def get(self, request: Request, user: str, token_id: int) -> Response:  # noqa: ARG002
        return token_detail(tokens.token_of(self.account(user, permission="accounts.view_apitoken"), token_id))

    @operation(
        "Revoke a token of an account (staff)",
        answers={200: answers.RevokedToken, 204: None},
        query=END,
        choices=END_CHOICES,
        again="The same.",
        scope="manage",
        idempotent=True,
    )
    def delete(self, request: Request, user: str, token_id: int) -> Response:
        """200 with `end`, which needs the rights of operators; 204 without it."""
        row = self.account(user, permission="accounts.revoke_apitoken")
        return revoked(request, tokens.token_of(row, token_id), self.viewer)


urlpatterns = [
    path("users", UserList.as_view(), name="users"),
    path("users/<segment:user>", UserDetail.as_view(), name="user"),
    path("users/<segment:user>/sessions", UserSessions.as_view(), name="user-sessions"),
    path("users/<segment:user>/tokens", UserTokens.as_view(), name="user-tokens"),
    path("users/<segment:user>/tokens/<int:token_id>", UserToken.as_view(), name="user-token"),
]
