"""Which account a person from an identity provider gets, and what their groups give them.

An account belongs to (issuer, subject), never to a name or an e-mail address: those can change hands.
"""

import re
import secrets
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import passwords
from apps.accounts.models import GroupMapping, User
from apps.accounts.people import group_roles, invitations
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import Conflict, Invalid, NotFound, RoleRequired
from apps.lib.settings_values.saml import AnyProvider

MAX_GROUPS = 5000
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Identity:
    """What a provider says of a person, checked."""

    provider: AnyProvider
    subject: str
    groups: frozenset[str]
    wished_name: str = ""
    full_name: str = ""


def providers() -> tuple[AnyProvider, ...]:
    return (*settings.OIDC_PROVIDERS, *settings.SAML_PROVIDERS)


def identity_of(provider: AnyProvider, claims: Mapping[str, Any]) -> Identity:
    """Read the claims of an id token, or what an assertion says under the same names.

    Raises Invalid if the groups are not all there or are no list.
    """
    names = [str(claims[name]) for name in ("preferred_username", "email", "nickname") if claims.get(name)]
    return Identity(
        provider=provider,
        subject=str(claims["sub"]),
        groups=_groups(provider, claims),
        wished_name=names[0] if names else "",
        full_name="".join(letter for letter in str(claims.get("name") or "") if letter.isprintable())[:150],
    )


def admit(identity: Identity) -> User:
    """Return the person's account with the roles of their groups; the first time, create it.

    Raises RoleRequired if they may not sign in.
    """
    user = account_of(identity.provider.issuer, identity.subject)
    if user is None:
        user = _join(identity)
    if not user.is_active:
        raise RoleRequired("This account is deactivated.", hint="Ask an operator.")
    group_roles.apply(user=user, issuer=identity.provider.issuer, groups=identity.groups)
    return user


def account_of(issuer: str, subject: str) -> User | None:
    row = SocialAccount.objects.filter(provider=issuer, uid=subject).select_related("user").first()
    return row.user if row else None


@transaction.atomic
def connect(*, user: User, identity: Identity) -> None:
    """Let a person who is signed in also sign in with this identity. Raises Conflict."""
    issuer = identity.provider.issuer
    User.objects.select_for_update().get(pk=user.pk)
    owner = account_of(issuer, identity.subject)
    if owner == user:
        return
    if owner is not None:
        raise Conflict(
            f"This identity of {identity.provider.name} belongs to another account.",
            hint="Sign in with it, or ask an operator.",
        )
    if SocialAccount.objects.filter(user=user, provider=issuer).exists():
        raise Conflict(
            f"Your account is connected to another identity of {identity.provider.name}.", hint="Disconnect it first."
        )
    SocialAccount.objects.create(user=user, provider=issuer, uid=identity.subject)
    record(Kind.IDENTITY_CONNECTED, actor_id=user.pk, subject=f"user/{user.pk}", issuer=issuer)
    group_roles.apply(user=user, issuer=issuer, groups=identity.groups)


@transaction.atomic
def disconnect(*, user: User, account_id: int, actor: Viewer) -> None:
    """Forget an identity, and take away what its groups gave. Raises NotFound and Conflict."""
    User.objects.select_for_update().get(pk=user.pk)
    row = SocialAccount.objects.filter(user=user, pk=account_id).first()
    if row is None:
        raise NotFound("Your account is not connected to this.", hint="The account page has the list.")
    known = {provider.issuer for provider in providers()}
    others = SocialAccount.objects.filter(user=user, provider__in=known).exclude(pk=row.pk)
    if not others.exists() and not passwords.has_one(user):
        raise Conflict("This is the only way in which you can sign in.", hint="Ask an operator for a password first.")
    group_roles.apply(user=user, issuer=row.provider, groups=())
    row.delete()
    record(Kind.IDENTITY_DISCONNECTED, actor_id=actor.user_id, subject=f"user/{user.pk}", issuer=row.provider)


def _groups(provider: AnyProvider, claims: Mapping[str, Any]) -> frozenset[str]:
    claim = provider.groups_claim
    elsewhere = claims.get("_claim_names")
    if isinstance(elsewhere, Mapping) and claim in elsewhere:
        # Entra ID, for people with more than 200 groups. Without the list their roles would end.
        raise Invalid(
            f"{provider.name} does not send all of your groups, because they are too many.",
            hint="An administrator there can limit the groups claim to the groups assigned to Larder.",
        )
    said = claims.get(claim) or []
    listed = [said] if isinstance(said, str) else said
    if not isinstance(listed, list) or len(listed) > MAX_GROUPS or not all(isinstance(one, str) for one in listed):
        raise Invalid(
            f"The claim {claim} of {provider.name} is no list of groups.",
            hint="LARDER_OIDC_GROUPS_CLAIMS or LARDER_SAML_GROUPS_ATTRIBUTES names it.",
        )
    return frozenset(listed)


def _join(identity: Identity) -> User:
    provider = identity.provider
    if provider.new_accounts == "nobody":
        raise RoleRequired(
            f"Nobody has connected this identity of {provider.name} to an account.",
            hint="Sign in another way and connect it on your account page, or ask an operator.",
        )
    if provider.new_accounts == "groups" and not _is_mapped(provider, identity.groups):
        raise RoleRequired(
            f"None of your groups at {provider.name} gives access to Larder.",
            hint="Ask an operator, who maps groups to teams in the admin.",
        )
    for name in _names(identity.wished_name):
        try:
            return _create(identity, name)
        except IntegrityError:  # the name is taken, or the person signs in twice at once
            found = account_of(provider.issuer, identity.subject)
            if found is not None:
                return found
    raise Conflict("No user name is free for you.", hint="Try again.")


def _is_mapped(provider: AnyProvider, groups: Iterable[str]) -> bool:
    mapped = set(GroupMapping.objects.filter(issuer=provider.issuer).values_list("group", flat=True))
    return not mapped.isdisjoint(groups)


@transaction.atomic
def _create(identity: Identity, name: str) -> User:
    if User.objects.filter(username__iexact=name).exists():
        raise IntegrityError
    user = User.objects.create(username=name, first_name=identity.full_name, password=make_password(None))
    SocialAccount.objects.create(user=user, provider=identity.provider.issuer, uid=identity.subject)
    record(Kind.USER_JOINED, actor_id=user.pk, subject=f"user/{user.pk}", issuer=identity.provider.issuer)
    return user


def _names(wished: str) -> Iterable[str]:
    """The wished user name in the letters that Larder allows, then with something behind it."""
    letters = unicodedata.normalize("NFKD", wished.partition("@")[0]).encode("ascii", "ignore").decode().lower()
    base = re.sub(r"[^a-z0-9._-]+", "-", letters).strip("._-")[:50].strip("._-")
    try:
        base = invitations.check_username(base)
    except Invalid:
        base = "user"
    yield base
    yield from (f"{base}-{number}" for number in range(2, _TRIES))
    yield from (f"{base}-{secrets.token_hex(4)}" for _ in range(_TRIES))
