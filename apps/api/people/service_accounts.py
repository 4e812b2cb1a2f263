"""/api/v1/teams/<team>/service-accounts: machines of a team, for its members; their tokens, for its managers."""

from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.urls import path
from django.views.decorators.debug import sensitive_variables
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Namespace, Scope, Team, User
from apps.accounts.people import service_accounts
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_json, validated
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of
from apps.api.people import answers
from apps.api.people.tokens import END, END_CHOICES, revoked, token_detail, token_document, token_page
from apps.lib.errors import Invalid, NotFound
from apps.releases.catalogue.documents import moment


class RotateInput(serializers.Serializer[Any]):
    days = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=tokens.LONGEST_LIFETIME.days,
        help_text="Until it expires; without it LARDER_TOKEN_DAYS.",
    )


class TokenInput(RotateInput):
    """`tokens.issue` validates the rest, with the same errors on every way in."""

    label = serializers.CharField()  # type: ignore[assignment]  # a field's name
    scope = serializers.ChoiceField(choices=Scope.values, help_text="403 for manage: a person creates it in a browser.")
    namespaces = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        allow_empty=False,
        help_text="Only these; left out, all that the account may use.",
    )
    only_name = serializers.CharField(required=False, allow_blank=True, help_text="Publish only this, such as vpc/aws.")


def account_document(account: Any, team: Team) -> dict[str, Any]:
    """Of a row of `service_accounts.accounts_of`."""
    return {
        "name": account.username.removeprefix(f"{team.name}.").removesuffix("[bot]"),
        "user": account.username,
        "team": team.name,
        "may_manage": account.may_manage,
        "warning": account.warning,
        "created_at": moment(account.date_joined),
    }


class AccountList(ApiView):
    http_method_names = ["get", "head"]

    @operation("List the service accounts of a team", answers={200: answers.ServiceAccountPage}, query=CURSOR)
    def get(self, request: Request, team: str) -> Response:
        self.require_token()
        row = gate.team_for(self.viewer, team)
        accounts = service_accounts.accounts_of(row)
        return Response(page_of(request, "service_accounts", accounts, lambda one: account_document(one, row)))


class AccountDetail(ApiView):
    http_method_names = ["get", "head", "put", "delete"]

    @operation("Show a service account", answers={200: answers.ServiceAccount})
    def get(self, request: Request, team: str, account: str) -> Response:  # noqa: ARG002
        self.require_token()
        row = gate.team_for(self.viewer, team)
        return Response(account_document(service_accounts.account_named(row, account), row))

    @operation(
        "Create a service account",
        answers={200: answers.ServiceAccount, 201: answers.ServiceAccount},
        again="200.",
        scope="manage",
        idempotent=True,
    )
    def put(self, request: Request, team: str, account: str) -> Response:  # noqa: ARG002
        """201 if created, 200 if it is there; 409 for a name that was deleted, since no name is used twice."""
        self.require_token()
        row = gate.team_for(self.viewer, team, manage=True)
        try:
            found, status = service_accounts.account_named(row, account), HTTPStatus.OK
        except NotFound:
            service_accounts.create(team=row, name=account, actor=self.viewer)
            found, status = service_accounts.account_named(row, account), HTTPStatus.CREATED
        return Response(account_document(found, row), status=status)

    @operation("Delete a service account", answers={204: None}, again="404.", scope="manage", idempotent=True)
    def delete(self, request: Request, team: str, account: str) -> Response:  # noqa: ARG002
        """Its tokens end at once; what it published stays."""
        self.require_token()
        row = gate.team_for(self.viewer, team, manage=True)
        service_accounts.delete(account=service_accounts.account_named(row, account), actor=self.viewer)
        return Response(status=HTTPStatus.NO_CONTENT)


class AccountTokens(ApiView):
    http_method_names = ["get", "head", "post"]

    @operation("List the tokens of a service account", answers={200: answers.TokenPage}, query=CURSOR, scope="manage")
    def get(self, request: Request, team: str, account: str) -> Response:
        self.require_token()
        return token_page(request, _account(self.viewer, team, account))

    @operation(
        "Create a token of a service account",
        takes=TokenInput,
        answers={201: answers.NewToken},
        again="Creates another; 409 while two are valid.",
        scope="manage",
    )
    def post(self, request: Request, team: str, account: str) -> Response:
        self.require_token()
        user = _account(self.viewer, team, account)
        wanted = validated(TokenInput, read_json(request))
        limits = {"scope": wanted["scope"], "only_name": wanted.get("only_name", ""), "label": wanted["label"]}
        namespaces = _namespaces(user, wanted.get("namespaces", []))
        return _new(tokens.issue(user=user, **limits, namespaces=namespaces, lifetime=_days(wanted), actor=self.viewer))


class AccountToken(ApiView):
    http_method_names = ["get", "head", "delete"]

    @operation("Show a token of a service account", answers={200: answers.TokenDetail}, scope="manage")
    def get(self, request: Request, team: str, account: str, service_token_id: int) -> Response:  # noqa: ARG002
        self.require_token()
        return token_detail(tokens.token_of(_account(self.viewer, team, account), service_token_id))

    @operation(
        "Revoke a token of a service account",
        answers={200: answers.RevokedToken, 204: None},
        query=END,
        choices=END_CHOICES,
        again="The same.",
        scope="manage",
        idempotent=True,
    )
    def delete(self, request: Request, team: str, account: str, service_token_id: int) -> Response:
        """200 with `end`, 204 without it."""
        self.require_token()
        token = tokens.token_of(_account(self.viewer, team, account), service_token_id)
        return revoked(request, token, self.viewer)


class AccountTokenRotate(ApiView):
    http_method_names = ["post"]

    @operation(
        "Create the next token of a service account",
        takes=RotateInput,
        answers={201: answers.NewToken},
        again="409: two are valid.",
        scope="manage",
    )
    def post(self, request: Request, team: str, account: str, service_token_id: int) -> Response:
        """With the label and limits of this one, which stays valid until it ends. 403 for the scope manage."""
        self.require_token()
        token = tokens.token_of(_account(self.viewer, team, account), service_token_id)
        wanted = validated(RotateInput, read_json(request))
        return _new(tokens.rotate(token=token, actor=self.viewer, lifetime=_days(wanted)))


def _account(viewer: Viewer, team: str, account: str) -> User:
    return service_accounts.account_named(gate.team_for(viewer, team, manage=True), account)


@sensitive_variables("made", "secret")
def _new(made: tuple[ApiToken, str]) -> Response:
    token, secret = made
    document = token_document(token) | {"secret": secret}
    return Response(document, status=HTTPStatus.CREATED, headers={"Cache-Control": "no-store"})


def _days(wanted: dict[str, Any]) -> timedelta | None:
    return timedelta(days=wanted["days"]) if "days" in wanted else None


def _namespaces(account: User, names: list[str]) -> list[Namespace]:
    """What it may be limited to is what it sees."""
    found = list(gate.visible_namespaces(Viewer(account)).filter(name__in=names))
    missing = sorted(set(names) - {namespace.name for namespace in found})
    if missing:
        raise Invalid(
            f"namespaces: {account} sees no namespace {missing[0][:80]!a}.", hint="Give the team a role there first."
        )
    return found


_ACCOUNTS = "teams/<segment:team>/service-accounts"
_ONE = f"{_ACCOUNTS}/<segment:account>"

urlpatterns = [
    path(_ACCOUNTS, AccountList.as_view(), name="service-accounts"),
    path(_ONE, AccountDetail.as_view(), name="service-account"),
    path(f"{_ONE}/tokens", AccountTokens.as_view(), name="service-tokens"),
    path(f"{_ONE}/tokens/<int:service_token_id>", AccountToken.as_view(), name="service-token"),
    path(f"{_ONE}/tokens/<int:service_token_id>/rotate", AccountTokenRotate.as_view(), name="service-token-rotate"),
]
