"""/api/v1/teams/<team>/service-accounts: machines of a team, for its members. `tokens` has their tokens."""

from collections.abc import Collection, Iterator
from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField

from apps.accounts.access import gate
from apps.accounts.models import Team, User
from apps.accounts.people import service_accounts
from apps.api.frame.base import DRY_RUN, DetailView, ListView, listed, operation, shown
from apps.api.frame.shapes import Consequences, LeftBehind, MomentField, Shape, page
from apps.api.people.connections import answer_left
from apps.lib.errors import NotFound
from apps.releases.lifecycle.token_impact import of_account


class ServiceAccount(Shape):
    # Of a row of `service_accounts.accounts_of`, with its team.
    name = CharField()
    user = CharField(source="username", help_text="The name that others see: team.name[bot].")
    team = CharField(source="service_of.name")
    may_manage = BooleanField(help_text="Whether a manager of the team allowed tokens of scope manage.")
    warning = CharField(help_text="For people: a warning about this account, or empty.")
    created_at = MomentField(source="date_joined")

    def name_of(self, account: Any) -> str:
        return service_accounts.short_name(account.username, account.service_of.name)


class AccountList(ListView):
    get = listed(
        "List the service accounts of a team", page("ServiceAccountPage", service_accounts=ServiceAccount(many=True))
    )

    def rows(self, team: str) -> QuerySet[User]:
        return service_accounts.accounts_of(gate.team_for(self.viewer, team)).select_related("service_of")


class AccountDetail(DetailView):
    get = shown("Show a service account", ServiceAccount)

    def row(self, team: str, account: str) -> User:
        return _account(gate.team_for(self.viewer, team), account)

    @operation("Create a service account", answers={200: ServiceAccount, 201: ServiceAccount}, again="200.")
    def put(self, request: Request, team: str, account: str) -> Response:  # noqa: ARG002
        """201 if created, 200 if it is there; 409 for a name that was deleted, since no name is used twice."""
        row = gate.team_for(self.viewer, team, manage=True)
        try:
            return self.answer(_account(row, account))
        except NotFound:
            service_accounts.create(team=row, name=account, actor=self.viewer)
        return self.answer(_account(row, account), HTTPStatus.CREATED)

    @operation(
        "Delete a service account",
        answers={200: (LeftBehind, Consequences), 204: None},
        query=DRY_RUN,
        again="404.",
    )
    def delete(self, request: Request, team: str, account: str) -> Response:  # noqa: ARG002
        """Its tokens end at once; what it published stays. 200 if it leaves webhooks behind, else 204."""
        row = gate.team_for(self.viewer, team, manage=True)
        user = _account(row, account)
        if self.is_dry_run():
            return self.answer(of_account(user), shape=Consequences)
        left = service_accounts.delete(account=user, actor=self.viewer)
        return answer_left(self, left)


def described(names: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields of the accounts of these teams for files that describe them."""
    rows = User.objects.filter(service_of__name__in=names, is_service=True, is_active=True).order_by("username")
    for team, username in rows.values_list("service_of__name", "username").iterator():
        yield team, {"name": service_accounts.short_name(username, team)}


def _account(team: Team, name: str) -> User:
    account = service_accounts.account_named(team, name)
    account.service_of = team  # no query for what is known
    return account


_ACCOUNTS = "teams/<segment:team>/service-accounts"

urlpatterns = [
    path(_ACCOUNTS, AccountList.as_view(), name="service-accounts"),
    path(f"{_ACCOUNTS}/<segment:account>", AccountDetail.as_view(), name="service-account"),
]
