"""Alarms, keys and allowances of upstreams, as staff read them."""

from django.db.models import Case, Count, IntegerField, Q, QuerySet, When

from apps.contrib.mirror.models import (
    Alarm,
    AlarmKind,
    AlarmState,
    Allows,
    KeyPin,
    KeyState,
    UnsignedAllowance,
    Upstream,
)
from apps.lib.errors import existing

# What staff can trust from now on; a signature that does not fit is nobody's to accept, unless it is valid and weak.
CAN_BE_ACCEPTED = (AlarmKind.KEY_CHANGED, AlarmKind.BYTES_CHANGED, AlarmKind.NO_KEY, AlarmKind.LIST_SHRANK)


def alarms_of(upstream: Upstream | None = None, *, state: str = "") -> QuerySet[Alarm]:
    """Return those of one upstream or of all: the open ones first, then the newest."""
    rows = Alarm.objects.select_related("upstream", "provider", "version", "resolved_by").defer(
        "version__sums", "version__signature"
    )
    if upstream is not None:
        rows = rows.filter(upstream=upstream)
    if state in AlarmState.values:
        rows = rows.filter(state=state)
    is_open = Case(When(state=AlarmState.OPEN, then=0), default=1, output_field=IntegerField())
    return rows.order_by(is_open, "-seen_at", "-pk")


def alarm_of(number: int, upstream: Upstream | None = None) -> Alarm:
    """Raises NotFound."""
    found = alarms_of(upstream).filter(pk=number).first()
    return existing(found, "There is no such alarm.", hint="See the list of alarms.")


def may_accept(alarm: Alarm) -> bool:
    """Return whether `alarms.accept` can take it: other bytes only if the registry signed their sums."""
    if alarm.kind == AlarmKind.BYTES_CHANGED and not alarm.found.get("is_signed"):
        return False
    return alarm.kind in CAN_BE_ACCEPTED or bool(alarm.found.get("is_accepted_by_clients"))


def pins_of(upstream: Upstream) -> QuerySet[KeyPin]:
    """Return the keys of its providers, those that wait first, each with how many versions it verified."""
    waits = Case(When(state=KeyState.WAITING, then=0), default=1, output_field=IntegerField())
    rows = KeyPin.objects.filter(upstream=upstream).select_related("upstream", "provider__upstream", "decided_by")
    counted = rows.annotate(version_count=Count("versions", filter=~Q(versions__verdict="")))
    return counted.order_by(waits, "namespace", "provider__type", "pk")


def pin_of(upstream: Upstream, number: int) -> KeyPin:
    """Raises NotFound."""
    found = pins_of(upstream).filter(pk=number).first()
    return existing(found, f"{upstream} has no such key.", hint="See its list of keys.")


def allowances_of(upstream: Upstream) -> QuerySet[UnsignedAllowance]:
    rows = UnsignedAllowance.objects.filter(upstream=upstream).select_related("created_by", "upstream")
    return rows.order_by("namespace", "allows")


def allowance_of(upstream: Upstream, namespace: str, allows: str = Allows.NO_KEY) -> UnsignedAllowance:
    """Raises NotFound."""
    found = allowances_of(upstream).filter(namespace=namespace, allows=allows).first()
    return existing(found, f"This is not allowed for {upstream}/{namespace[:64]}.")
