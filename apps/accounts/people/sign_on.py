"""The choice of the account that a person from an identity provider gets, and of the roles that their groups give.

An account belongs to (issuer, subject), never to a name or an e-mail address: those can change hands.
"""

import re
import secrets
import unicodedata
from collections.abc import Iterable
from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import sessions, sign_ins
from apps.accounts.identity.sign_on.adapter import ProviderAdapter
from apps.accounts.identity.sign_on.providers import Identity
from apps.accounts.models import GroupMapping, User
from apps.accounts.people import group_roles, invitations, same_person
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import Conflict, Invalid, NotFound, RoleRequired

# A sign-in at the provider that is older than this by its own clock does not confirm anything.
CONFIRMATION_LEEWAY_SECONDS = 60
_TRIES = 5


class SignOnAdapter(ProviderAdapter):
    """SOCIALACCOUNT_ADAPTER."""

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Decide whose account it is, before allauth signs the person in."""
        identity, state = sociallogin.identity, sociallogin.state
        match state.get("process"):
            case "connect":
                connect(user=_same_person(request, state), identity=identity)
                raise ImmediateHttpResponse(HttpResponseRedirect(reverse("portal:account")))
            case "confirm":
                user = _same_person(request, state)
                if account_of(identity.provider.issuer, identity.subject) != user:
                    raise RoleRequired(
                        f"You signed in to {identity.provider.name} as another person.",
                        hint="Sign in there with the identity of this account.",
                    )
                at = _confirmed_at(sociallogin.claims, state)
                sessions.confirm(request, at=at)
                if identity.provider.saw_second_factor(sociallogin.claims):
                    sessions.remember_second_factor(request, at=at)
                raise ImmediateHttpResponse(HttpResponseRedirect(state.get("next") or reverse("portal:home")))
        sociallogin.user = sociallogin.account.user = admit(identity)
        at = sociallogin.claims.get("auth_time")
        state[sessions.SIGN_ON] = {
            "issuer": identity.provider.issuer,
            "sid": str(sociallogin.claims.get("sid") or ""),
            "at": min(float(at), timezone.now().timestamp()) if isinstance(at, int | float) else 0,
            "second_factor": identity.provider.saw_second_factor(sociallogin.claims),
        }


def _same_person(request: HttpRequest, state: dict[str, Any]) -> User:
    """The session may have changed hands while its person was at the provider."""
    if not isinstance(request.user, User) or request.user.pk != state.get("user"):
        raise Invalid("Another person started this sign-in.", hint="Sign in and start again.")
    return request.user


def _confirmed_at(claims: dict[str, Any], state: dict[str, Any]) -> float:
    """Return the time of the sign-in at the provider, which was asked for a new one. Raises RoleRequired."""
    now, said = timezone.now().timestamp(), claims.get("auth_time")
    if said is None:
        return now
    if not isinstance(said, int | float) or said < state["begun"] - CONFIRMATION_LEEWAY_SECONDS:
        raise RoleRequired("The provider did not ask you to sign in again.", hint="Sign out there, and try again.")
    return min(now, float(said))


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
        raise NotFound("Your account is not connected to this identity.", hint="The account page lists them.")
    known = {provider.issuer for provider in settings.IDENTITY_PROVIDERS}
    others = SocialAccount.objects.filter(user=user, provider__in=known).exclude(pk=row.pk)
    if not others.exists() and not sign_ins.has_password(user):
        raise Conflict("This is your only way to sign in.", hint="Ask an operator for a password first.")
    group_roles.apply(user=user, issuer=row.provider, groups=())
    same_person.remember_identity(user, provider=row.provider, uid=row.uid)
    row.delete()
    record(Kind.IDENTITY_DISCONNECTED, actor_id=actor.user_id, subject=f"user/{user.pk}", issuer=row.provider)


def _join(identity: Identity) -> User:
    provider = identity.provider
    if provider.new_accounts == "nobody":
        raise RoleRequired(
            f"This identity of {provider.name} is not connected to an account.",
            hint="Sign in another way and connect it on your account page, or ask an operator.",
        )
    mapped = GroupMapping.objects.filter(issuer=provider.issuer).values_list("group", flat=True)
    if provider.new_accounts == "groups" and identity.groups.isdisjoint(mapped):
        raise RoleRequired(
            f"None of your groups at {provider.name} gives access to Larder.",
            hint="Ask an operator, who maps groups to teams in Operate.",
        )
    for name in _names(identity.wished_name):
        try:
            return _create(identity, name)
        except IntegrityError:  # the name is taken, or the person signs in twice at once
            found = account_of(provider.issuer, identity.subject)
            if found is not None:
                return found
    raise Conflict("None of the user names for you is available.", hint="Try again.")


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
