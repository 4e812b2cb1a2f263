"""Whose passwords count, the limits on guessing them, and audit rows for successful and failed sign-ins, from Django's
signals.
"""

from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from apps.accounts.access import epoch, throttling
from apps.accounts.identity import sessions
from apps.accounts.models import User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.audit.recorder import record
from apps.lib.errors import TooManyAttempts
from apps.lib.net.forwarding import network_of
from apps.lib.process import metrics

# An office shares an address, and a botnet a name.
TIMES_BY_ADDRESS = 20
TIMES_BY_NAME = 4
# Of sign-on, which counts no guesses: each attempt makes a session.
TIMES_BY_SIGN_ON = 100
# Where somebody has signed in lately, guesses from elsewhere do not count against them.
KNOWN_ADDRESS_LIFETIME = timedelta(days=30)


def password_counts(user: User) -> bool:
    """By LARDER_LOCAL_SIGN_IN."""
    return bool(settings.LOCAL_SIGN_IN == "on" or (settings.LOCAL_SIGN_IN == "staff" and user.is_staff))


def has_password(user: User) -> bool:
    """Return whether the person can sign in with a password."""
    return user.has_usable_password() and password_counts(user)


def count_password(request: HttpRequest, name: str) -> throttling.Attempt:
    """Count a password before it is checked; give it back if it was right. Raises TooManyAttempts.

    By address and name first: who mistypes locks out neither their office nor, elsewhere, the person of that name.
    Who has signed in from there lately is stopped by that limit alone: guesses at other names, or from elsewhere, are
    a stranger's.
    """
    address, name = address_of(request), name.strip().lower()
    is_known = partial(_has_signed_in_from, address, name)
    attempt = throttling.count(throttling.Limit("sign_in", f"address {network_of(address)} name {name}"))
    attempt.count(throttling.by_address("sign_in", address, times=TIMES_BY_ADDRESS), unless=is_known)
    attempt.count(throttling.Limit("sign_in", f"name {name}", TIMES_BY_NAME), unless=is_known)
    return attempt


def count_sign_on(request: HttpRequest) -> None:
    """Count the start of a sign-on, which proves nothing yet. Raises TooManyAttempts."""
    throttling.count(_of_network(request, "sign-on", TIMES_BY_SIGN_ON))


def count_refused_sign_on(request: HttpRequest) -> None:
    """Count an answer of a provider that was refused; accepted ones are never counted. Raises TooManyAttempts."""
    throttling.count(_of_network(request, "refused sign-on", TIMES_BY_SIGN_ON))


def count_refused_passkey(request: HttpRequest, user: User | None) -> None:
    """Count a passkey's answer that was refused: right ones cannot be guessed, so it is never limited.

    By account; at sign-in, where only the answer says whose it is, by address. Apart from codes and passwords, which
    are guessed, so that strangers' nonsense does not use up a person's tries. Raises TooManyAttempts.
    """
    if user is None:
        throttling.count(_of_network(request, "passkey", TIMES_BY_ADDRESS))
    else:
        throttling.count(throttling.Limit("second_factor", f"passkey of account {user.pk}"))


def _of_network(request: HttpRequest, what: str, times: int) -> throttling.Limit:
    return throttling.Limit("sign_in", f"{what} {network_of(address_of(request))}", times)


def count_wrong_secret(request: HttpRequest) -> TooManyAttempts | None:
    """Count a token or code that was wrong; return the refusal if there were too many. Right ones are never counted."""
    try:
        throttling.count(throttling.by_address("tokens", address_of(request)))
    except TooManyAttempts as refusal:
        return refusal
    return None


def _has_signed_in_from(address: str, name: str) -> bool:
    user = User.objects.filter(username__iexact=name).first()
    since = timezone.now() - KNOWN_ADDRESS_LIFETIME
    events = AuditEvent.objects.filter(kind=Kind.USER_SIGNED_IN, address=address, at__gt=since)
    return bool(address) and user is not None and events.filter(actor_id=user.pk).exists()


def record_sign_in(*, request: HttpRequest | None, user: User, **_: Any) -> None:
    if request is not None:
        sessions.describe(request)
    metrics.sign_ins.labels("signed_in").inc()
    record(Kind.USER_SIGNED_IN, actor_id=user.pk, subject=f"user/{user.pk}")


def record_sign_out(*, user: User | None, **_: Any) -> None:
    if user is not None:
        epoch.advance()


def record_failed_sign_in(*, credentials: dict[str, Any], **_: Any) -> None:
    """Record the account only if the name exists: people type passwords into the wrong field."""
    tried = User.objects.filter(username__iexact=str(credentials.get("username", ""))).first()
    subject = f"user/{tried.pk}" if tried else "user/unknown"
    metrics.sign_ins.labels("wrong_password").inc()
    record(Kind.USER_SIGN_IN_FAILED, actor_id=None, subject=subject)


def record_failed_second_factor(*, request: HttpRequest, user: User, **_: Any) -> None:
    """Record a wrong code: its sender knew the password."""
    subject, client = f"user/{user.pk}", address_of(request)
    metrics.sign_ins.labels("wrong_code").inc()
    record(Kind.USER_SIGN_IN_FAILED, actor_id=None, subject=subject, client=client, reason="second_factor")


def record_failed_sign_on(*, issuer: str, reason: str) -> None:
    """Record what an identity provider did not confirm. The person is unknown."""
    metrics.sign_ins.labels("sign_on_refused").inc()
    record(Kind.USER_SIGN_IN_FAILED, actor_id=None, subject="user/unknown", issuer=issuer, reason=reason)


def address_of(request: HttpRequest | None) -> str:
    """Return the client's address; empty if the server listens on a socket file without a proxy."""
    return "" if request is None else str(request.META.get("REMOTE_ADDR", ""))
