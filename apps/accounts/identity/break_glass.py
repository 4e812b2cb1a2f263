"""A link that signs an operator in while identity providers do not: made on the host, used once, within ten minutes."""

from datetime import timedelta

from django.core import signing
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import NotFound, RoleRequired

LIFETIME = timedelta(minutes=10)
_SALT = "larder.break-glass"


def issue(user: User) -> str:
    """Return the secret of a link. Raises RoleRequired: it is for staff."""
    if not user.is_staff:
        raise RoleRequired(f"{user} is not staff.", hint="Name an operator.")
    record(Kind.BREAK_GLASS_ISSUED, actor_id=None, subject=f"user/{user.pk}")
    return signing.dumps({"user": user.pk, "since": _since(user)}, salt=_SALT, compress=False)


def user_of(secret: str) -> User:
    """Return the person whom the link signs in. Raises NotFound, with one text for all reasons."""
    try:
        said = signing.loads(secret, salt=_SALT, max_age=LIFETIME)
    except signing.BadSignature:
        raise _void() from None
    user = User.objects.filter(pk=said["user"], is_active=True, is_staff=True).first()
    if user is None or said["since"] != _since(user):
        raise _void()
    return user


@transaction.atomic
def use(secret: str) -> User:
    """Like `user_of`, once: the caller signs the person in, and any sign-in ends the link. Raises NotFound."""
    user = user_of(secret)
    if User.objects.filter(pk=user.pk, last_login=user.last_login).update(last_login=timezone.now()) != 1:
        raise _void()
    record(Kind.BREAK_GLASS_USED, actor_id=user.pk, subject=f"user/{user.pk}")
    return user


def _since(user: User) -> str:
    return user.last_login.isoformat() if user.last_login else ""


def _void() -> NotFound:
    return NotFound(
        "This link is no longer valid: it was used or has expired.",
        hint="Create another on the host.",
    )
