"""One cheap question before the rows of the table are asked: which of them may have a line for this person. Home asks
it, and once a minute another page, for the number in the menu.

Most have none on most days, and Django takes longer to write a query than the database to answer it. So all questions
are one query that is written once. They may find too much, never too little: those about the whole site name no
namespaces, because the rows themselves decide.
"""

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from django.db.models import DateField, DateTimeField, Exists, OuterRef, Q, QuerySet

from apps.accounts.access import connections as connected
from apps.accounts.access import gate
from apps.accounts.models import ApiToken, Role, User
from apps.accounts.people import access_requests
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.jobs.compiled_queries import Slot
from apps.notify.models import Letter, LetterState, Preference
from apps.releases.catalogue import reading
from apps.releases.lifecycle.impact import DAYS
from apps.releases.lifecycle.tombstones import RECENT
from apps.releases.models import DownloadCount, Fetch, Lifecycle, Release, State
from apps.signing.keys import EXPIRY_WARNING
from apps.signing.models import SigningKey
from apps.signing.models import State as KeyState

TOKEN_DAYS = timedelta(days=14)
# An expired token is of interest for so long.
EXPIRED_DAYS = timedelta(days=7)
# So long the number in the menu may not know what others did.
NUMBER_LASTS = timedelta(minutes=1)
# The person who asks.
USER = Slot("user", User._meta.pk)  # noqa: SLF001  # Django's public name for it
_moments: dict[str, timedelta] = {}
_days: dict[str, timedelta] = {}


def moment(later: timedelta) -> Slot:
    """Return the place of the time so much later than now; earlier, if it is negative. Called when modules load."""
    name = f"now {later}"
    _moments[name] = later
    return Slot(name, DateTimeField())


def day(later: timedelta) -> Slot:
    name = f"today {later}"
    _days[name] = later
    return Slot(name, DateField())


_REFUSED_SINCE = moment(-reading.REFUSED_LATELY)
_REQUESTED_SINCE = moment(-access_requests.OPEN)
_KEY_UNTIL = moment(EXPIRY_WARNING)
_TOKEN_SINCE, _TOKEN_UNTIL = moment(-EXPIRED_DAYS), moment(TOKEN_DAYS)
_TAKEN_SINCE = moment(-RECENT)
_FETCHED_SINCE = day(-timedelta(days=DAYS))
_ACTED_SINCE = moment(-NUMBER_LASTS)
_DISCOURAGED = (Lifecycle.DEPRECATED, Lifecycle.YANKED)


def values_for(user: User, now: datetime) -> dict[str, Any]:
    """Return what fills the slots."""
    return {
        "user": user.pk,
        **{name: now + later for name, later in _moments.items()},
        **{name: now.date() + later for name, later in _days.items()},
    }


Questions = tuple[QuerySet[Any, Any], ...]


def acts() -> QuerySet[AuditEvent]:
    """Return what the person has done since any number that may still be repeated was counted, the latest first."""
    return AuditEvent.objects.filter(actor_id=USER, at__gt=_ACTED_SINCE).order_by("-pk")


def _granted(least: Role) -> QuerySet[Any, Any]:
    """Return the namespaces in which the person has at least that role."""
    person: Any = SimpleNamespace(pk=USER)
    return gate.grants_of(person).filter(role__gte=least).values("namespace")


def approvals() -> Questions:
    """Operators are asked about what others are not: they look at all."""
    awaiting = Release.objects.filter(state=State.AWAITING_APPROVAL)
    staff = User.objects.filter(pk=USER, is_staff=True)
    return awaiting.filter(namespace__in=_granted(Role.PUBLISHER)), awaiting.filter(Exists(staff))


def connections() -> Questions:
    owned = _granted(Role.OWNER)
    return tuple(source.rows().filter(namespace__in=owned).order_by() for source in connected.sources)


def missed() -> Questions:
    mine = {"user": USER, "user__email": ""}
    unconfirmed = Preference.objects.filter(**mine).exclude(unconfirmed_address="")
    return Letter.objects.filter(state=LetterState.MISSED, **mine), unconfirmed


def discouraged_versions() -> Questions:
    still = DownloadCount.objects.filter(release=OuterRef("pk"), day__gte=_FETCHED_SINCE)
    rows = Release.objects.filter(state=State.PUBLISHED, lifecycle__in=_DISCOURAGED)
    return (rows.filter(Exists(still), namespace__in=_granted(Role.PUBLISHER)),)


def releases() -> Questions:
    late = Q(state__in=reading.GROUPS[reading.REFUSED], created_at__gte=_REFUSED_SINCE)
    groups = (reading.HELD, reading.AWAITING, reading.RUNNING)
    unfinished = Q(state__in=[state for group in groups for state in reading.GROUPS[group]])
    held = Release.objects.filter(state=State.HELD, created_by__is_service=True)
    return Release.objects.filter(unfinished | late, created_by=USER), held


def requests() -> Questions:
    return (AuditEvent.objects.filter(kind=Kind.ACCESS_REQUESTED, at__gt=_REQUESTED_SINCE),)


def keys() -> Questions:
    return (SigningKey.objects.filter(state=KeyState.ACTIVE, expires_at__lte=_KEY_UNTIL),)


def tokens() -> Questions:
    soon = ApiToken.objects.filter(
        revoked_at=None, suspended_at=None, expires_at__gt=_TOKEN_SINCE, expires_at__lte=_TOKEN_UNTIL
    )
    return soon.filter(user=USER), soon.filter(user__service_of__memberships__user=USER)


def taken() -> Questions:
    events = AuditEvent.objects.filter(at__gt=_TAKEN_SINCE)
    return events.filter(kind=Kind.RELEASE_QUARANTINED), events.filter(kind=Kind.RELEASE_PURGED)


def fetched_versions() -> Questions:
    fetched = Fetch.objects.filter(user=USER, last_on__gt=_FETCHED_SINCE)
    return (fetched.filter(release__lifecycle__in=_DISCOURAGED, release__state=State.PUBLISHED),)
