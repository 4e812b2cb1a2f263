"""The events of mirrored registries."""

from typing import Any

from apps.audit.kinds import Kind
from apps.notify.declaring import Event

_PLACE = 5


def _subject_of_alarm(notice: Any) -> str:
    what = notice.reason.partition(":")[0]
    return f"Mirror alarm for {notice.subject}{f': {what}' if what else ''}"


EVENTS = {
    "upstream.alarm": Event(
        Kind.UPSTREAM_ALARM_RAISED,
        "A mirrored registry raised an alarm, such as another key (site-wide webhooks only)",
        "raised an alarm",
        place=_PLACE,
        subject=_subject_of_alarm,
        page=lambda event, _: f"/mirror/alarms/{event.detail.get('alarm', 0)}",
        told=("what", "known", "found"),
        is_site_wide=True,
    ),
    "upstream.policy-changed": Event(
        Kind.UPSTREAM_POLICY_CHANGED,
        "The policy of a mirrored registry was changed (site-wide webhooks only)",
        place=_PLACE,
        sentence=lambda one: f"{one.by or 'Larder'} changed the policy of {one.subject}",
        page=lambda event, _: f"/mirror/{event.subject}/policy",
        is_site_wide=True,
    ),
}
