"""One-time links to create an account; there is no open sign-up."""

import hashlib
import re
import secrets
from datetime import datetime

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.accounts.access import contacts, epoch
from apps.accounts.access.gate import Viewer, namespaces_with_role, operates, role_on
from apps.accounts.access.people_only import people_only
from apps.accounts.models import PSEUDONYM, Grant, Invitation, Namespace, NamespaceQuerySet, Role, Scope, User
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import Conflict, Invalid, NotFound, RoleRequired, existing

# ASCII only, so that no two names look alike. Lower case, as sign-in reads it.
_USERNAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?", re.ASCII)

# The admin asks staff for it.
PERMISSION = "accounts.add_invitation"


def _void() -> NotFound:
    """Return one error for unknown, used, revoked and expired, so that guessing links reveals nothing."""
    return NotFound(
        "This invitation link is no longer valid: it was used, revoked or has expired.",
        hint="Ask the person who sent it for another one.",
    )


def _taken(name: str) -> Conflict:
    return Conflict(f"The user name {name} is taken.", hint="Choose another.")


def _refuse_without_passwords() -> None:
    if settings.LOCAL_SIGN_IN != "on":
        raise Conflict(
            "New people sign in with single sign-on here, so an account created by invitation could not sign in.",
            hint="Give roles to groups or people once they have signed in.",
        )


@people_only("invite people")
@transaction.atomic
def invite(
    *, actor: Viewer, note: str, namespace: Namespace | None = None, role: Role | None = None
) -> tuple[Invitation, str]:
    """Create an invitation; return it with the secret of its link, which is not stored. Raises Invalid and Conflict."""
    _refuse_without_passwords()
    if (namespace is None) != (role is None):
        raise Invalid("An invitation names a namespace and a role, or neither.", hint="Choose both, or none.")
    if len(note) > 120:  # noqa: PLR2004  # the column's width
        raise Invalid("A note has at most 120 characters.", hint="Write only who it is for.")
    secret = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        digest=_digest(secret),
        note=note.strip(),
        namespace=namespace,
        role=role,
        created_by=actor.user,
        created_by_token=actor.token,
        expires_at=timezone.now() + settings.INVITATION_LIFETIME,
    )
    actor.record(
        Kind.USER_INVITED,
        subject=f"invitation/{invitation.pk}",
        namespace=namespace.name if namespace else "",
        role=role.label.lower() if role else "",
    )
    return invitation, secret


def invites_anywhere(viewer: Viewer) -> bool:
    """Return whether the viewer may invite without a role: operators, in a browser or with a token without limits."""
    token = viewer.token
    is_whole = token is None or (token.scope == Scope.MANAGE and not token.is_limited and not token.only_name)
    return is_whole and operates(viewer)


def inviting(viewer: Viewer) -> NamespaceQuerySet:
    """Return the namespaces into which the viewer may invite. Raises RoleRequired for those who may not invite at all.

    A service account may not, though its team owns the namespace: who stole its token would make themselves an account.
    """
    if viewer.user is not None and viewer.user.is_service:
        raise RoleRequired("Service accounts cannot invite people.", hint="Ask a manager of the team.")
    if viewer.token is not None and viewer.token.only_name:
        raise RoleRequired(
            "This token can publish only one name, so it cannot invite people.", hint="Use a token without limits."
        )
    owned = namespaces_with_role(viewer, Role.OWNER)
    if not invites_anywhere(viewer) and not owned.exists():
        raise RoleRequired(
            "Only operators and owners of a namespace can invite people. You own none, or your token cannot manage it.",
            hint="Use a token with the scope manage." if viewer.token else contacts.ask_operator(),
        )
    return owned


def open_into(namespace: Namespace) -> QuerySet[Invitation]:
    """Return those that still give a role in the namespace, the newest first: its owners see them."""
    rows = Invitation.objects.filter(namespace=namespace, used_at=None, revoked_at=None, expires_at__gt=timezone.now())
    return rows.select_related("created_by").order_by("-created_at", "-pk")


def managed(viewer: Viewer) -> QuerySet[Invitation]:
    """Return the invitations that the viewer sees and may revoke, the newest first. Raises as `inviting`."""
    owned = inviting(viewer)
    rows = Invitation.objects.select_related("namespace", "created_by", "used_by").order_by("-created_at", "-pk")
    return rows if invites_anywhere(viewer) else rows.filter(namespace__in=owned)


def managed_one(viewer: Viewer, number: int) -> Invitation:
    """Raises as `inviting`, and NotFound."""
    invitation = managed(viewer).filter(pk=number).first()
    return existing(invitation, "You have no such invitation.", hint="See the list of invitations.")


def invitation_for_secret(secret: str) -> Invitation:
    """Return the open invitation of a link. Raises NotFound."""
    rows = Invitation.objects.filter(is_open(timezone.now())).select_related("namespace", "created_by")
    invitation = rows.filter(digest=_digest(secret)).first()
    if invitation is None or not _inviter_still_may(invitation):
        raise _void()
    return invitation


@transaction.atomic
def revoke(*, invitation: Invitation, actor: Viewer) -> None:
    """End an open invitation; ignore one that is used or has ended."""
    now = timezone.now()
    if Invitation.objects.filter(pk=invitation.pk, used_at=None, revoked_at=None).update(revoked_at=now) == 1:
        epoch.advance()
        actor.record(Kind.USER_INVITATION_REVOKED, subject=f"invitation/{invitation.pk}")


def check_username(username: str) -> str:
    """Return the name as it is stored. Raises Invalid with the rule that it breaks."""
    name = username.strip().lower()
    if not _USERNAME.fullmatch(name):
        raise Invalid(
            "A user name has 1 to 63 letters a to z, digits, and . _ - inside.",
            hint="Choose another, such as jo.smith.",
        )
    if name.startswith(PSEUDONYM):
        raise Invalid(f"Names that begin with {PSEUDONYM} are for accounts of former users.", hint="Choose another.")
    return name


def accept(*, invitation: Invitation, username: str, password: str) -> User:
    """Create the account. Raises Invalid (name, password), Conflict (name taken) and NotFound.

    A conditional update decides between two uses of the link at once. If the name is taken, the rollback leaves the
    link unused.
    """
    _refuse_without_passwords()
    name = check_username(username)
    try:
        validate_password(password, User(username=name))
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), hint="Choose another password.") from None
    hashed = make_password(password)  # takes a tenth of a second, so outside the transaction
    try:
        return _accept(invitation, name, hashed)
    except IntegrityError:
        raise _taken(name) from None


@transaction.atomic
def _accept(invitation: Invitation, name: str, hashed: str) -> User:
    now = timezone.now()
    won = Invitation.objects.filter(is_open(now), pk=invitation.pk).update(used_at=now)
    if won != 1 or not _inviter_still_may(invitation):
        raise _void()
    if User.objects.filter(username__iexact=name).exists():  # older names may have capitals
        raise _taken(name)
    user = User.objects.create(username=name, password=hashed)
    if invitation.namespace is not None and invitation.role is not None:
        Grant.objects.create(
            namespace=invitation.namespace,
            user=user,
            role=invitation.role,
            given_by=invitation.created_by,
            created_by_token_id=invitation.created_by_token_id,
        )
    Invitation.objects.filter(pk=invitation.pk).update(used_by=user)
    record(
        Kind.USER_JOINED,
        actor_id=user.pk,
        subject=f"user/{user.pk}",
        invitation=invitation.pk,
        namespace=invitation.namespace.name if invitation.namespace else "",
        role=Role(invitation.role).label.lower() if invitation.role else "",
    )
    return user


def is_open(now: datetime) -> Q:
    """Match invitations whose link still works."""
    return Q(used_at=None, revoked_at=None, expires_at__gt=now)


def _inviter_still_may(invitation: Invitation) -> bool:
    """Check that the inviter could send it today: links of people who lost the role must not work."""
    inviter = invitation.created_by
    if inviter is None:  # made by `manage.py invite`
        return True
    if not inviter.is_active:
        return False
    if invitation.namespace is None:
        return operates(Viewer(inviter)) or inviter.has_perm(PERMISSION)
    return role_on(Viewer(inviter), invitation.namespace) == Role.OWNER


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
