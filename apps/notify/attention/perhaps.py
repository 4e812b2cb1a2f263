"""One cheap question before the rows of the table are asked: which of them may have a line for this person.

Most have none on most days, and Django takes longer to write a query than the database to answer it. So all questions
are one query that is written once. They may find too much, never too little: those about the whole site name no
namespaces, because the rows themselves decide.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import DateField, DateTimeField, Q, QuerySet

from apps.accounts.models import ApiToken, User
from apps.accounts.people import access_requests
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.jobs.compiled_queries import Slot
from apps.notify.models import Webhook
from apps.releases.catalogue import reading
from apps.releases.lifecycle.impact import DAYS
from apps.releases.lifecycle.tombstones import RECENT
from apps.releases.models import Fetch, Lifecycle, Release, State
from apps.signing.keys import EXPIRY_WARNING
from apps.signing.models import SigningKey
from apps.signing.models import State as KeyState

# A receiver that restarts is back by then.
FAILING_FOR = timedelta(hours=1)
TOKEN_DAYS = timedelta(days=14)
# An expired token is of interest for so long.
EXPIRED_DAYS = timedelta(days=7)
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
_FAILING_SINCE = moment(-FAILING_FOR)
_KEY_UNTIL = moment(EXPIRY_WARNING)
_TOKEN_SINCE, _TOKEN_UNTIL = moment(-EXPIRED_DAYS), moment(TOKEN_DAYS)
_TAKEN_SINCE = moment(-RECENT)
_FETCHED_SINCE = day(-timedelta(days=DAYS))


def values_for(user: User, now: datetime) -> dict[str, Any]:
    """Return what fills the slots."""
    return {
        "user": user.pk,
        **{name: now + later for name, later in _moments.items()},
        **{name: now.date() + later for name, later in _days.items()},
    }


Questions = tuple[QuerySet[Any, Any], ...]


def releases() -> Questions:
    late = Q(state__in=reading.GROUPS[reading.REFUSED], created_at__gte=_REFUSED_SINCE)
    groups = (reading.HELD, reading.AWAITING, reading.RUNNING)
    unfinished = Q(state__in=[state for group in groups for state in reading.GROUPS[group]])
    held = Release.objects.filter(state=State.HELD, created_by__is_service=True)
    return Release.objects.filter(unfinished | late, created_by=USER), held


def requests() -> Questions:
    return (AuditEvent.objects.filter(kind=Kind.ACCESS_REQUESTED, at__gt=_REQUESTED_SINCE),)


def webhooks() -> Questions:
    return (Webhook.objects.filter(failing_since__lt=_FAILING_SINCE, suspended_at=None),)


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
    discouraged = (Lifecycle.DEPRECATED, Lifecycle.YANKED)
    return (fetched.filter(release__lifecycle__in=discouraged, release__state=State.PUBLISHED),)
