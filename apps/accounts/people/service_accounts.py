"""Service accounts: machines of a team. They have its roles and tokens of their own, and cannot sign in.

Managers of the team create and delete them; the caller asks the gate first. A name is never used twice, because
releases and audit rows refer to the account.
"""

import re
from collections.abc import Iterator

from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, OuterRef, QuerySet, Value, When
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access import connections
from apps.accounts.access.connections import Connected
from apps.accounts.access.gate import Viewer
from apps.accounts.access.people_only import people_only, refuse_token
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Membership, Namespace, Scope, Team, User
from apps.audit.kinds import Kind
from apps.lib.errors import Conflict, Invalid, NotFound, existing

MAX_NAME_LENGTH = 40
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)


@people_only("create service accounts")
def create(*, team: Team, name: str, actor: Viewer) -> User:
    """Create the account `<team>.<name>[bot]`. Raises Invalid or Conflict."""
    if len(name) > MAX_NAME_LENGTH or not _NAME.fullmatch(name):
        raise Invalid(
            f"{name[:80]!r} cannot name a service account: it has 1 to {MAX_NAME_LENGTH} lower-case letters and "
            "digits, with single - inside.",
            hint="Choose another, such as ci or nightly-build.",
        )
    try:
        return _create(team, f"{team.name}.{name}[bot]", actor)
    except IntegrityError:
        raise Conflict(
            f"The name {name} was used before, perhaps by an account that was deleted.", hint="Choose another."
        ) from None


def refuse_direct_role(user: User | None) -> None:
    """For roles and memberships of people: a machine's end with its team. Raises Invalid."""
    if user is not None and user.is_service:
        raise Invalid(
            f"{user} is a service account, which has only its team's roles.",
            hint="Give the role to its team, or create a service account in another team.",
        )


@transaction.atomic
def _create(team: Team, username: str, actor: Viewer) -> User:
    account = User.objects.create(
        username=username,
        password=make_password(None),
        is_service=True,
        service_of=team,
        created_by_token=actor.token,
    )
    Membership.objects.create(team=team, user=account, added_by=actor.user)
    _record(Kind.SERVICE_ACCOUNT_CREATED, team, account, actor)
    return account


@transaction.atomic
def delete(*, account: User, actor: Viewer) -> list[Connected]:
    """Revoke its tokens and take its roles away; return what is left behind by it. The row stays, deactivated. Safe to
    repeat.
    """
    row = User.objects.select_for_update().get(pk=account.pk)
    if not row.is_active:
        return []
    for token in ApiToken.objects.filter(user=row, revoked_at=None).order_by("pk"):
        tokens.revoke(token=token, actor=actor)
    with connections.watching(actor, users=[row.pk]) as left:  # webhooks
        Membership.objects.filter(user=row).delete()
        User.objects.filter(pk=row.pk).update(is_active=False)
        assert row.service_of is not None  # noqa: S101  # a deleted team has deleted its accounts
        _record(Kind.SERVICE_ACCOUNT_DELETED, row.service_of, row, actor)
    return left


@people_only("change the rights of service accounts")
def allow_manage(*, account: User, allowed: bool, actor: Viewer) -> None:
    """Let the account have tokens of scope manage, or no longer: then revoke those that it has. Safe to repeat.

    The page asks for a fresh confirmation first. A token is none: raises RoleRequired for one that would allow it.
    """
    if allowed:
        act, hint = "allow a service account the scope manage", "Sign in, and allow it on the account's page."
        refuse_token(actor, act, subject=f"user/{account.pk}", hint=hint)
    with transaction.atomic():  # the audit row of a refusal stays
        row = User.objects.select_for_update().get(pk=account.pk)
        if not row.is_service or row.service_of is None or not row.is_active:
            raise NotFound("There is no such service account.", hint="The team's page has the list.")
        if row.may_manage == allowed:
            return
        User.objects.filter(pk=row.pk).update(may_manage=allowed)
        account.may_manage = allowed
        if not allowed:
            for token in ApiToken.objects.filter(user=row, scope=Scope.MANAGE, revoked_at=None).order_by("pk"):
                tokens.revoke(token=token, actor=actor)
        _record(Kind.SERVICE_ACCOUNT_CHANGED, row.service_of, row, actor, may_manage=allowed)


def with_warnings(accounts: QuerySet[User]) -> QuerySet[User]:
    """Annotate `warning`, a sentence for every list of accounts: empty unless tokens of scope manage are possible."""
    manage = ApiToken.objects.usable(timezone.now()).filter(user=OuterRef("pk"), scope=Scope.MANAGE)
    return accounts.annotate(
        warning=Case(
            When(may_manage=True, then=Value("Its tokens can have the scope manage.")),
            When(
                Exists(manage),
                is_service=True,
                then=Value("It has a token of scope manage that was created before these needed permission."),
            ),
            default=Value(""),
        )
    )


def short_name(username: str, team: str) -> str:
    """`ci` for the account `platform.ci[bot]` of the team `platform`."""
    return username.removeprefix(f"{team}.").removesuffix("[bot]")


def accounts_of(team: Team) -> QuerySet[User]:
    """Return the team's accounts, each with its `warning`."""
    return with_warnings(User.objects.filter(service_of=team, is_service=True, is_active=True)).order_by("username")


def account_of(team: Team, number: int) -> User:
    """Return the team's account with that id. Raises NotFound."""
    account = accounts_of(team).filter(pk=number).first()
    return existing(account, f"There is no such service account of {team}.", hint="The team's page has the list.")


def account_named(team: Team, name: str) -> User:
    """Return the team's account `<team>.<name>[bot]`. Raises NotFound."""
    account = accounts_of(team).filter(username=f"{team.name}.{name}[bot]").first()
    return existing(account, f"There is no service account {name} of {team}.", hint="The team's page has the list.")


def known_to_their_makers(namespace: Namespace) -> Iterator[connections.Secret]:
    """Yield the tokens of accounts with a role in the namespace whose makers no longer manage the team."""
    manages = Membership.objects.filter(team=OuterRef("user__service_of"), user=OuterRef("made_by"), is_manager=True)
    rows = ApiToken.objects.usable(timezone.now()).filter(
        ~Exists(manages),
        user__is_service=True,
        user__service_of__in=namespace.grants.filter(team__isnull=False).values("team"),
        made_by__isnull=False,
    )
    for token in rows.select_related("user__service_of", "made_by").order_by("pk"):
        assert token.made_by is not None and token.user.service_of is not None  # noqa: S101, PT018  # by the filter
        path = reverse("portal:service-account", args=[token.user.service_of.name, token.user.pk])
        yield connections.Secret("token", f"{token} of {token.user.username}", token.made_by, path)


def _record(kind: Kind, team: Team, account: User, actor: Viewer, **detail: bool) -> None:
    subject = f"team/{team.name}/{account.pk}"
    actor.record(kind, subject=subject, name=account.username, **detail)
