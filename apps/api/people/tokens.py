"""/api/v1/me and /api/v1/tokens: the caller, and a person's own tokens; those of service accounts (for the managers of
their team) and those of anyone (for staff) have the same views.

One's own are listed and revoked here, and made on the page or by `tofu login`: a token that could make tokens would
outlive its end and its revocation.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet, prefetch_related_objects
from django.urls import path
from django.views.decorators.debug import sensitive_variables
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, ListField

from apps.accounts import creations
from apps.accounts.access import gate, operators
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Scope, User
from apps.accounts.people import accounts, service_accounts
from apps.api.frame.base import DRY_RUN, ApiView, DetailView, ListView, Operation, listed, operation, shown
from apps.api.frame.shapes import Consequences, MomentField, Shape, With, page
from apps.lib.errors import Invalid
from apps.releases.lifecycle.token_impact import of_account, of_tokens


class RotateInput(serializers.Serializer[Any]):
    days = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=tokens.LONGEST_LIFETIME.days,
        help_text="Days until it expires; the default is token_days of LARDER_LIFETIMES.",
    )


class TokenInput(RotateInput):
    # `tokens.issue` validates the rest, with the same errors on every way in.

    label = serializers.CharField()  # type: ignore[assignment]  # a field's name
    scope = serializers.ChoiceField(
        choices=Scope.values, help_text="Manage is refused with 403: a person must create such a token in a browser."
    )
    namespaces = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        allow_empty=False,
        help_text="Limits the token to these namespaces. The default is all namespaces of the account.",
    )
    only_name = serializers.CharField(
        required=False, allow_blank=True, help_text="Limits publishing to this name, such as vpc/aws."
    )


class Token(Shape):
    # Of a token with its namespaces. Nobody has the secret any more, and the digest stays here.
    id = IntegerField(source="pk")
    label = CharField()  # type: ignore[assignment]  # a field's name
    start = CharField(help_text="Its first characters, to recognise it.")
    scope = ChoiceField(choices=Scope.values)
    namespaces = ListField(child=CharField(), allow_null=True, help_text="null: all namespaces of the person.")
    only_name = CharField(help_text="Limits publishing to this name, such as vpc/aws. Empty for everything.")
    usable = BooleanField(source="is_usable", help_text="Not expired, revoked or suspended.")
    created_at = MomentField()
    expires_at = MomentField()
    revoked_at = MomentField(allow_null=True)
    suspended_at = MomentField(allow_null=True, help_text="Time since an older database was restored.")
    leaked_at = MomentField(allow_null=True, help_text="Time when someone reported where they found the token.")
    leaked_url = CharField()
    last_used_at = MomentField(allow_null=True)
    last_used_by = CharField(help_text="The client, or empty.")
    last_used_from = CharField(help_text="Its address, or empty.")

    def namespaces_of(self, token: ApiToken) -> list[str] | None:
        return sorted(namespace.name for namespace in token.namespaces.all()) if token.is_limited else None


class TokenFacts(Token):
    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        return {name: fields[name] for name in ("id", "label", "scope", "namespaces", "only_name", "expires_at")}


class Me(Shape):
    # Of a user with the token.
    user = CharField(source="username")
    name = CharField(source="get_full_name")
    staff = BooleanField(source="is_staff")
    token = TokenFacts()


class Creation(Shape):
    kind = CharField(
        help_text="role, membership, invitation, trusted publisher, token, service account, signing key or webhook."
    )
    name = CharField()
    created_at = MomentField(source="at")


class KeptCreation(Creation):
    reason = CharField(help_text="Why it is still active.")
    hint = CharField()


class TokenDetail(Token):
    created = Creation(many=True, help_text="Things it created that are still active.")


class RevokedToken(Shape):
    ended = Creation(many=True)
    kept = KeptCreation(many=True)


class NewToken(Token):
    secret = CharField(help_text="The token itself; only in this response.")


class MeView(DetailView):
    """The caller and their token. `namespaces` is null for a token that is not limited to some."""

    get = shown("The caller and their token", Me)

    def row(self) -> With:
        token = self.viewer.token
        assert token is not None  # noqa: S101  # the API takes nothing else
        return With(token.user, token=_with(token))


def own(view: ApiView, *, revokes: bool = False) -> User:
    """A token of any scope may revoke itself."""
    viewer = view.viewer
    if revokes and viewer.user is not None and viewer.token_id == view.kwargs["token_id"]:
        return viewer.user
    return gate.person_for(viewer)


def of_service_account(view: ApiView, *, revokes: bool = False) -> User:  # noqa: ARG001
    team = gate.team_for(view.viewer, view.kwargs["team"], manage=True)
    return service_accounts.account_named(team, view.kwargs["account"])


def of_anyone(view: ApiView, *, revokes: bool = False) -> User:
    operators.require_everywhere(view.viewer, "accounts.revoke_apitoken" if revokes else "accounts.view_apitoken")
    return accounts.account_named(view.kwargs["user"])


class OwnersView(ApiView):
    """`owner_of` finds the owner of the tokens, and raises what the gate raises; `whose` says it in the summaries."""

    owner_of: Callable[..., User] = staticmethod(own)
    whose = ""

    def operation_of(self, method: str) -> Operation | None:
        found = super().operation_of(method)
        return found and replace(found, summary=found.summary.format(whose=self.whose))

    def token(self, *, revokes: bool = False) -> ApiToken:
        number = self.kwargs.get("token_id") or self.kwargs.get("service_token_id", 0)
        return tokens.token_of(self.owner_of(self, revokes=revokes), number)

    @sensitive_variables("made")
    def new(self, made: tuple[ApiToken, str]) -> Response:
        headers = {"Cache-Control": "no-store"}
        return self.answer(_with(made[0], secret=made[1]), HTTPStatus.CREATED, headers=headers)


class TokenList(OwnersView, ListView):
    """The newest first, those that have ended included."""

    get = listed("List {whose}", page("TokenPage", tokens=Token(many=True)), scope="manage")

    def rows(self, **_: Any) -> QuerySet[ApiToken]:
        return ApiToken.objects.filter(user=self.owner_of(self)).newest_first().prefetch_related("namespaces")


class TokenView(OwnersView, DetailView):
    get = shown("Show {whose}", TokenDetail, scope="manage")

    def row(self, **_: Any) -> With:
        token = self.token()
        return _with(token, created=creations.creations_of(token))

    @operation(
        "Revoke {whose}",
        answers={200: (RevokedToken, Consequences), 204: None},
        query={
            "end": "`created`: also revoke or delete everything that the token created, as far as the caller may.",
            **DRY_RUN,
        },
        choices={"end": ["created"]},
        again="The same response.",
    )
    def delete(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """200 with `end`, which of anyone's needs the rights of operators, and with `dry_run`; otherwise 204."""
        token = self.token(revokes=True)
        asked = self.text("end")
        if asked not in ("", "created"):
            raise Invalid(f"end is {asked!a}, expected created.", hint="Leave it out to revoke only the token.")
        if self.is_dry_run():
            return self.answer(of_tokens([token], ends_creations=bool(asked)), shape=Consequences)
        if not asked:
            tokens.revoke(token=token, actor=self.viewer)
            return self.answer(status=HTTPStatus.NO_CONTENT)
        found = creations.revoke_with_creations(token=token, actor=self.viewer)
        kept = [With(one, reason=str(why), hint=why.hint) for one, why in found.kept]
        return self.answer({"ended": found.ended, "kept": kept}, shape=RevokedToken)


class ServiceTokens(TokenList):
    @operation(
        "Create a token of a service account",
        takes=TokenInput,
        answers={201: NewToken},
        again="Creates another; 409 while two are valid.",
    )
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        user, wanted = self.owner_of(self), self.body()
        names = wanted.get("namespaces", [])
        # What it may be limited to is what it sees.
        namespaces = list(gate.visible_namespaces(Viewer(user)).filter(name__in=names))
        missing = sorted(set(names) - {namespace.name for namespace in namespaces})
        if missing:
            raise Invalid(
                f"namespaces: {user} sees no namespace {missing[0][:80]!a}.", hint="Give the team a role there first."
            )
        limits = {"scope": wanted["scope"], "only_name": wanted.get("only_name", ""), "label": wanted["label"]}
        lifetime = _lifetime(wanted)
        return self.new(tokens.issue(user=user, **limits, namespaces=namespaces, lifetime=lifetime, actor=self.viewer))


class ServiceTokenRotate(OwnersView):
    @operation(
        "Create the next token of a service account",
        takes=RotateInput,
        answers={201: NewToken},
        again="409, because two are valid already.",
    )
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """With the label and limits of this one, which stays valid until it ends. 403 for the scope manage."""
        token = self.token()
        return self.new(tokens.rotate(token=token, actor=self.viewer, lifetime=_lifetime(self.body())))


class UserTokens(TokenList):
    @operation(
        "Revoke all tokens of an account (staff)",
        answers={200: Consequences, 204: None},
        query=DRY_RUN,
        again="204.",
    )
    def delete(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        user = self.owner_of(self, revokes=True)
        if self.is_dry_run():
            return self.answer(of_account(user))
        tokens.revoke_all(user=user, actor=self.viewer)
        return self.answer(status=HTTPStatus.NO_CONTENT)


def _with(token: ApiToken, **facts: Any) -> With:
    """Together with its namespaces."""
    if token.is_limited:
        prefetch_related_objects([token], "namespaces")
    return With(token, **facts)


def _lifetime(wanted: dict[str, Any]) -> timedelta | None:
    return timedelta(days=wanted["days"]) if "days" in wanted else None


_SERVICE: dict[str, Any] = {"owner_of": of_service_account}
_ANYONE: dict[str, Any] = {"owner_of": of_anyone}
_SERVICE_TOKENS = "teams/<segment:team>/service-accounts/<segment:account>/tokens"
_SERVICE_TOKEN = f"{_SERVICE_TOKENS}/<int:service_token_id>"

urlpatterns = [
    path("me", MeView.as_view(), name="me"),
    path("tokens", TokenList.as_view(whose="your own tokens"), name="tokens"),
    path("tokens/<int:token_id>", TokenView.as_view(whose="your own token"), name="token"),
    path(
        _SERVICE_TOKENS,
        ServiceTokens.as_view(**_SERVICE, whose="the tokens of a service account"),
        name="service-tokens",
    ),
    path(_SERVICE_TOKEN, TokenView.as_view(**_SERVICE, whose="a token of a service account"), name="service-token"),
    path(f"{_SERVICE_TOKEN}/rotate", ServiceTokenRotate.as_view(**_SERVICE), name="service-token-rotate"),
    path(
        "users/<segment:user>/tokens",
        UserTokens.as_view(**_ANYONE, whose="the tokens of an account (staff)"),
        name="user-tokens",
    ),
    path(
        "users/<segment:user>/tokens/<int:token_id>",
        TokenView.as_view(**_ANYONE, whose="a token of an account (staff)"),
        name="user-token",
    ),
]
