"""Browser sessions, by the digests under which they are stored: list them and end them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.models import Authenticator
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from apps.accounts.access import epoch
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.identity.hashed_sessions import digest_of
from apps.accounts.models import User
from apps.audit.kinds import Kind
from apps.audit.recorder import record

MAX_AGENT_LENGTH = 300
# How long a proof of who one is counts for acts that ask for a fresh one.
PROOF_LIFETIME = timedelta(minutes=10)
_DESCRIPTION = "sign-in"
_SECOND_FACTOR = "second-factor-seen"
SIGN_ON = "sign-on"
CONFIRMED = "confirmed-at"


def end_all(user: User) -> int:
    """Sign the person out everywhere; return the number of browsers.

    Only its signed data says whose a session is, so each is opened: some twenty microseconds apiece.
    """
    theirs = [
        session.pk
        for session in Session.objects.order_by("pk").iterator()
        if session.get_decoded().get(SESSION_KEY) == str(user.pk)
    ]
    return _delete(theirs)


def _delete(digests: Collection[str]) -> int:
    count = Session.objects.filter(pk__in=digests).delete()[0]
    if count:
        epoch.advance()
    return count


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A signed-in browser, with the address (`client`) and User-Agent of the sign-in."""

    digest: str
    expires_at: datetime
    at: datetime | None = None
    client: str = ""
    agent: str = ""
    issuer: str = ""
    sid: str = ""


def describe(request: HttpRequest) -> None:
    """Store in the session what lists of sessions show."""
    request.session[_DESCRIPTION] = {
        "at": timezone.now().isoformat(),
        "client": str(request.META.get("REMOTE_ADDR", "")),
        "agent": str(request.META.get("HTTP_USER_AGENT", ""))[:MAX_AGENT_LENGTH],
    }


def remember_sign_on(request: HttpRequest, told: Mapping[str, Any]) -> None:
    """Store the `issuer` that confirmed the person, its session `sid`, and when the person signed in there (`at`).

    `second_factor`: it asked for one.
    """
    request.session[SIGN_ON] = {"issuer": told["issuer"], "sid": told["sid"]}
    confirm(request, at=told["at"])
    if told["second_factor"]:
        remember_second_factor(request, at=told["at"])


def confirm(request: HttpRequest, *, at: float) -> None:
    """Store that the person proved who they are, at that time."""
    request.session[CONFIRMED] = at


def remember_second_factor(request: HttpRequest, *, at: float) -> None:
    """Store that the identity provider asked for a second factor, at that time."""
    request.session[_SECOND_FACTOR] = at


def record_factor(request: HttpRequest, row: Authenticator) -> None:
    """Record a factor as shown, as allauth records those that it asks for itself."""
    record_authentication(request, row.user, "mfa", id=row.pk, type=row.type)


def has_second_factor(request: HttpRequest, user: User) -> bool:
    """Return whether the person has shown a second factor in this session."""
    return _SECOND_FACTOR in request.session or bool(_factor_records(request, user))


def second_factor_at(request: HttpRequest, user: User, *, factors: Collection[int]) -> float:
    """Return when a second factor was last shown: one of these `factors`, a recovery code, or one at the provider."""
    times = [
        float(record["at"])
        for record in _factor_records(request, user)
        if record.get("id") in factors or record.get("type") == Authenticator.Type.RECOVERY_CODES
    ]
    # Sessions of older releases have True here, for a time that they did not store.
    return max(float(request.session.get(_SECOND_FACTOR, 0)), *times, 0)


def _factor_records(request: HttpRequest, user: User) -> list[dict[str, Any]]:
    return [record for record in get_authentication_records(request, user) if record.get("method") == "mfa"]


def confirmed_at(request: HttpRequest) -> float:
    return float(request.session.get(CONFIRMED, 0))


def sessions_of(user: User) -> list[SignedIn]:
    """Return the person's sessions, the latest sign-in first. Opens every session, as `end_all` does."""
    found = []
    for row in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        data = row.get_decoded()
        if _is_of(data, user):
            said = dict(data.get(_DESCRIPTION, {}))
            at = said.pop("at", "")
            by = {name: data.get(SIGN_ON, {}).get(name, "") for name in ("issuer", "sid")}
            found.append(SignedIn(row.pk, row.expire_date, datetime.fromisoformat(at) if at else None, **said, **by))
    return sorted(found, key=lambda session: session.expires_at, reverse=True)


@transaction.atomic
def end_for(*, user: User, actor: Viewer, digest: str | None = None, besides: str = "") -> int:
    """End the session with the digest, or all of the person's `besides` one; return how many ended."""
    if digest is None and not besides:
        count = end_all(user)
    else:
        theirs = {session.digest for session in sessions_of(user)} - {besides}
        count = _delete(theirs if digest is None else theirs & {digest})
    if count:
        actor.record(Kind.SESSIONS_ENDED, subject=f"user/{user.pk}", count=count)
    return count


@transaction.atomic
def end_by_provider(*, user: User, issuer: str, sid: str) -> int:
    """End the sessions that the issuer's session `sid` began, all of the issuer's without it; return how many ended."""
    theirs = [one.digest for one in sessions_of(user) if one.issuer == issuer and (not sid or one.sid == sid)]
    count = _delete(theirs)
    if count:
        record(Kind.SESSIONS_ENDED, actor_id=None, subject=f"user/{user.pk}", count=count, by=issuer)
    return count


@transaction.atomic
def end_by_sid(*, issuer: str, sid: str) -> int:
    """End the sessions that the issuer's session `sid` began, of any account; return how many ended."""
    found = (row.get_decoded() for row in Session.objects.filter(expire_date__gt=timezone.now()).iterator())
    owners = {data.get(SESSION_KEY) for data in found if data.get(SIGN_ON) == {"issuer": issuer, "sid": sid}}
    people = User.objects.filter(pk__in=[owner for owner in owners if owner]).order_by("pk")
    return sum(end_by_provider(user=user, issuer=issuer, sid=sid) for user in people)


def digest_of_request(request: HttpRequest) -> str:
    """Return the digest of the request's session, or the empty string."""
    cookie = request.session.session_key if hasattr(request, "session") else None
    return digest_of(cookie) if cookie else ""


def session_viewer(request: HttpRequest) -> Viewer:
    """Return the viewer of a page, by session."""
    return Viewer(user=request.user, session=digest_of_request(request)) if isinstance(request.user, User) else NOBODY


def is_signed_in(digest: str, user: User) -> bool:
    """Check that the session has not ended or expired and the password is the same."""
    row = Session.objects.filter(pk=digest, expire_date__gt=timezone.now()).first()
    return row is not None and _is_of(row.get_decoded(), user)


def _is_of(data: Mapping[str, Any], user: User) -> bool:
    """Check the session like django.contrib.auth.get_user, except that it is another request's session."""
    if data.get(SESSION_KEY) != str(user.pk):
        return False
    known = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    return any(constant_time_compare(data.get(HASH_SESSION_KEY, ""), accepted) for accepted in known)
