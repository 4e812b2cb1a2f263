"""The names of events, by which programs and people are told of kinds of the audit. A name is never changed or used
again. Rooms add theirs at their doors.
"""

from apps import room
from apps.audit.kinds import Kind
from apps.notify.declaring import Event

# Behind those of rooms about releases.
_LATER = 2
_OF_CORE = {
    "release.published": Event(Kind.RELEASE_PUBLISHED, "A version was published", "was published"),
    "release.held": Event(
        Kind.RELEASE_HELD,
        "A release needs its publisher's answer",
        "needs its publisher's answer",
        is_of_larder=True,
        is_of_upload=True,
    ),
    "release.awaiting-approval": Event(
        Kind.RELEASE_APPROVAL_REQUESTED,
        "A release awaits approval by another person",
        "awaits approval",
        is_of_larder=True,
        is_of_upload=True,
    ),
    "release.approved": Event(Kind.RELEASE_APPROVED, "A release was approved", "was approved", is_of_upload=True),
    "release.declined": Event(
        Kind.RELEASE_DECLINED, "A release was declined by its approver", "was declined", is_of_upload=True
    ),
    "release.rejected": Event(Kind.RELEASE_REJECTED, "A release was rejected", "was rejected", is_of_upload=True),
    "release.failed": Event(
        Kind.RELEASE_FAILED,
        "A release failed because of an internal error",
        "could not be published",
        is_of_larder=True,
        is_of_upload=True,
    ),
    "release.deprecated": Event(Kind.RELEASE_DEPRECATED, "A version was deprecated", "was deprecated"),
    "release.yanked": Event(Kind.RELEASE_YANKED, "A version was yanked", "was yanked"),
    "release.restored": Event(
        Kind.RELEASE_RESTORED, "A version was restored after a deprecation, a yank or a quarantine", "was restored"
    ),
    "release.quarantined": Event(Kind.RELEASE_QUARANTINED, "Staff quarantined a version", "was quarantined"),
    "release.purged": Event(Kind.RELEASE_PURGED, "A version was purged", "was purged", place=_LATER),
    "role.granted": Event(Kind.GRANT_GIVEN, "A person or team got a role, or another role", place=_LATER),
    "role.withdrawn": Event(Kind.GRANT_WITHDRAWN, "A person or team lost their role", place=_LATER),
    "connections.suspended": Event(
        Kind.CONNECTIONS_SUSPENDED,
        "Connections of former owners were suspended by a transfer",
        place=_LATER,
        is_of_larder=True,
    ),
    "connections.left-behind": Event(
        Kind.CONNECTIONS_LEFT_BEHIND,
        "An owner lost the role, and left connections behind",
        place=_LATER,
        is_of_larder=True,
    ),
    "access.requested": Event(Kind.ACCESS_REQUESTED, "Someone requested publish access", place=_LATER),
    "usage.notified": Event(Kind.USAGE_NOTIFIED, "An owner sent a message to the users of a version", place=_LATER),
    "key.registered": Event(Kind.KEY_REGISTERED, "A signing key was added", "has a new signing key", place=_LATER),
    "key.retired": Event(Kind.KEY_RETIRED, "A signing key was retired", "retired a signing key", place=_LATER),
    "key.revoked": Event(Kind.KEY_REVOKED, "A signing key was revoked", "revoked a signing key", place=_LATER),
    "namespace.changed": Event(
        Kind.NAMESPACE_CHANGED,
        "The visibility or description of the namespace was changed",
        "was changed",
        place=_LATER,
    ),
}


def _all() -> dict[str, Event]:
    found = {**_OF_CORE, **{name: event for part in room.all_of("events") for name, event in part.items()}}
    return dict(sorted(found.items(), key=lambda item: item[1].place))


EVENTS = _all()
NAMES = {str(event.kind): name for name, event in EVENTS.items()}
