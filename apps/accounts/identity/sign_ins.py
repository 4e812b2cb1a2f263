"""Audit rows for successful and failed sign-ins, from Django's signals."""

from typing import Any

from django.http import HttpRequest

from apps.accounts.access import epoch
from apps.accounts.identity import sessions
from apps.accounts.models import User
from apps.audit.kinds import Kind
from apps.audit.recorder import record


def record_sign_in(*, request: HttpRequest | None, user: User, **_: Any) -> None:
    if request is not None:
        sessions.describe(request)
    record(Kind.USER_SIGNED_IN, actor_id=user.pk, subject=f"user/{user.pk}")


def record_sign_out(*, user: User | None, **_: Any) -> None:
    if user is not None:
        epoch.advance()


def record_failed_sign_in(*, credentials: dict[str, Any], **_: Any) -> None:
    """Record the account only if the name exists: people type passwords into the wrong field."""
    tried = User.objects.filter(username__iexact=str(credentials.get("username", ""))).first()
    subject = f"user/{tried.pk}" if tried else "user/unknown"
    record(Kind.USER_SIGN_IN_FAILED, actor_id=None, subject=subject)


def record_failed_second_factor(*, request: HttpRequest, user: User, **_: Any) -> None:
    """Record a wrong code: whoever sent it knew the password."""
    subject, client = f"user/{user.pk}", address_of(request)
    record(Kind.USER_SIGN_IN_FAILED, actor_id=None, subject=subject, client=client, reason="second_factor")


def record_failed_sign_on(*, issuer: str, reason: str) -> None:
    """Record what an identity provider did not confirm. Who it was, nobody knows."""
    record(Kind.USER_SIGN_IN_FAILED, actor_id=None, subject="user/unknown", issuer=issuer, reason=reason)


def address_of(request: HttpRequest | None) -> str:
    """Return the client's address; empty if the server listens on a socket file without a proxy."""
    return "" if request is None else str(request.META.get("REMOTE_ADDR", ""))
