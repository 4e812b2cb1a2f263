"""The rows of checks in the table of what needs attention."""

from collections.abc import Iterator

from django.urls import reverse

from apps.contrib.checks.models import Hold
from apps.notify.attention import readers
from apps.notify.attention.matter import MOST, Item, Matter, Person
from apps.notify.models import Topic
from apps.releases.models import State

_HELD = Hold.objects.filter(waived_at=None, release__state=State.AWAITING_APPROVAL)


def waiting(person: Person) -> Iterator[Item]:
    """Yield releases that wait for checks where the person publishes: owners can waive them."""
    if not person.publishes:
        return
    held = _HELD.filter(release__namespace__in=person.publishing)
    for hold in held.select_related("release__namespace").order_by("until", "pk")[:MOST]:
        release = hold.release
        yield Item(
            f"{release} waits for required checks",
            reverse("portal:release", args=[release.public_id]),
            "; ".join(hold.missing[:3]),
            act="See what is missing",
            tone="warn",
            picture="shield-check",
            at=hold.until,
        )


WAITING = Matter(
    "checks",
    Topic.CHECKS,
    ("release.awaiting-checks",),
    can_act=readers.author,
    act="See what is missing",
    at_home=waiting,
    perhaps=lambda: (_HELD,),
    rank=2,
)
FINDINGS = Matter(
    "findings", Topic.CHECKS, ("release.findings",), can_act=readers.owners, act="See the version", rank=3
)
