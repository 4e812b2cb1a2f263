"""Rows and states that tests of the health of mirrored registries share."""

from datetime import timedelta

from django.utils import timezone

from apps.upstream.models import Upstream
from apps.upstream.rows import Alarm, AlarmKind, AlarmState
from tests.upstream.shelf import HOST, add_upstream

HOUR = timedelta(hours=1)
FAILURE = {"code": "hangs", "message": "no answer", "url": f"https://{HOST}/v1/x", "status": 0, "rule": "first_byte"}


def down(**fields) -> Upstream:
    later = timezone.now() + HOUR
    return add_upstream(failures=5, open_until=later, failed_at=timezone.now(), failure=FAILURE, **fields)


def alarm_of(upstream: Upstream, state: str = AlarmState.OPEN, subject: str = f"{HOST}/hashicorp") -> Alarm:
    return Alarm.objects.create(
        kind=AlarmKind.KEY_CHANGED, upstream=upstream, namespace="hashicorp", subject=subject, state=state,
        seen_at=timezone.now(),
    )  # fmt: skip
