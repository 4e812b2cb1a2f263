"""The row of alarms in the table of what needs attention: staff who operate mirrored registries decide about them."""

from collections.abc import Iterator
from typing import Any

from django.urls import reverse

from apps.accounts.models import User
from apps.contrib.mirror import alarms, upstreams
from apps.notify.attention.matter import MOST, Item, Matter, Person, Readers
from apps.notify.models import Topic


def deciding(_: Any) -> Readers:
    return [(User.objects.with_perm(upstreams.OPERATE).filter(is_staff=True), "")]


def open_alarms(person: Person) -> Iterator[Item]:
    if not person.user.is_staff or not person.user.has_perm(upstreams.VIEW):
        return
    may_act = person.user.has_perm(upstreams.OPERATE)
    for alarm in alarms.open_alarms().order_by("seen_at", "pk")[:MOST]:
        yield Item(
            f"{alarm.get_kind_display()}: {alarm.subject}",
            reverse("portal:mirror-alarm", args=[alarm.pk]),
            "Larder refuses what it found until someone decides." if may_act else "An operator has to decide.",
            act="Decide" if may_act else "",
            tone="bad",
            picture="triangle-alert",
        )


ALARMS = Matter(
    "alarm",
    Topic.UPSTREAMS,
    ("upstream.alarm",),
    can_act=deciding,
    act="Decide about the alarm",
    at_home=open_alarms,
    rank=3,
)
