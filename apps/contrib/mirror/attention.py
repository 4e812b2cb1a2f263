"""The rows of mirrored registries in the table of what needs attention: staff decide about alarms and policies."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Exists
from django.urls import reverse

from apps.accounts.models import User
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.records import alarms
from apps.notify.attention.matter import MOST, Item, Matter, Person, Readers, Written
from apps.notify.attention.perhaps import USER, Questions
from apps.notify.models import Topic
from apps.notify.notices import Notice


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


def perhaps_alarms() -> Questions:
    return (alarms.open_alarms().filter(Exists(User.objects.filter(pk=USER, is_staff=True))),)


def policy_letters(notice: Notice) -> Iterator[Written]:
    reason = [f"Reason: {notice.reason}"] if notice.reason else []
    for people, _ in deciding(notice):
        yield Written(people, [notice.sentence, *reason, *_changes(notice)], notice.url)


def _changes(notice: Notice) -> Iterator[str]:
    """The rules that a change of policy added and removed."""
    before, after = notice.more.get("before") or {}, notice.more.get("after") or {}
    if before.get("cooldown_days") != after.get("cooldown_days"):
        yield f"Cool-down: {before.get('cooldown_days', 0)} days before, {after.get('cooldown_days', 0)} days now."
    old, new = ([_rule(one) for one in policy.get("rules", ())] for policy in (before, after))
    yield from (f"Removed: {rule}" for rule in old if rule not in new)
    yield from (f"Added: {rule}" for rule in new if rule not in old)
    if sorted(old) == sorted(new) and old != new:
        yield "The rules have another order."


def _rule(fields: Mapping[str, Any]) -> str:
    words = [fields["effect"], fields["pattern"], fields.get("versions"), " ".join(fields.get("platforms") or ())]
    days = f"after {fields['days']} days" if fields.get("days") else ""
    return " ".join(filter(None, [*words, days, f"({fields['reason']})" if fields.get("reason") else ""]))


ALARMS = Matter(
    "alarm",
    Topic.UPSTREAMS,
    ("upstream.alarm",),
    can_act=deciding,
    act="Decide about the alarm",
    at_home=open_alarms,
    perhaps=perhaps_alarms,
    rank=3,
)
POLICY = Matter("policy", Topic.UPSTREAMS, ("upstream.policy-changed",), letters=policy_letters)
