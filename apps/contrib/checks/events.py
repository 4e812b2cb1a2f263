"""The events of reports and required checks."""

from apps.audit.kinds import Kind
from apps.notify.declaring import Event

_PLACE = 1

EVENTS = {
    "release.checked": Event(
        Kind.RELEASE_CHECKED,
        "A report about a published version was received",
        "has a new report",
        place=_PLACE,
    ),
    "release.findings": Event(
        Kind.RELEASE_FINDINGS,
        "A report found something new in a published version, from the severity that owners chose",
        "has new findings",
        place=_PLACE,
        is_of_larder=True,
    ),
    "release.awaiting-checks": Event(
        Kind.RELEASE_CHECKS_MISSING,
        "A release waits for required checks",
        "waits for required checks",
        place=_PLACE,
        is_of_larder=True,
        is_of_upload=True,
    ),
    "release.checks-waived": Event(
        Kind.RELEASE_CHECKS_WAIVED,
        "An owner waived the required checks of a release",
        "needs no further checks",
        place=_PLACE,
        is_of_larder=True,
        is_of_upload=True,
    ),
}
