"""Alarms: what was found differs from what is known. It is refused, and waits for staff with both side by side."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Case, F, IntegerField, Q, QuerySet, When
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.blobs import store
from apps.contrib.mirror.models import (
    Absence,
    Alarm,
    AlarmKind,
    AlarmState,
    Allows,
    KeyPin,
    Upstream,
    UpstreamProvider,
    UpstreamVersion,
)
from apps.contrib.mirror.records import trust
from apps.lib.errors import Conflict, existing

log = structlog.get_logger("larder.upstream")
# What staff can trust from now on; a signature that does not fit is nobody's to accept, unless it is valid and weak.
CAN_BE_ACCEPTED = (AlarmKind.KEY_CHANGED, AlarmKind.BYTES_CHANGED, AlarmKind.NO_KEY, AlarmKind.LIST_SHRANK)


@transaction.atomic
def raise_alarm(
    kind: AlarmKind,
    *,
    upstream: Upstream,
    subject: str,
    known: Mapping[str, Any],
    found: Mapping[str, Any],
    provider: UpstreamProvider | None = None,
    version: UpstreamVersion | None = None,
    url: str = "",
) -> Alarm:
    """Raise one, or count the open one of this subject once more. What staff have dismissed does not come back."""
    now = timezone.now()
    same = Alarm.objects.filter(kind=kind, upstream=upstream, subject=subject)
    row, created = same.get_or_create(
        state=AlarmState.OPEN,
        defaults={
            "kind": kind,
            "upstream": upstream,
            "provider": provider,
            "version": version,
            "namespace": _namespace_of(upstream, subject),
            "subject": subject,
            "known": dict(known),
            "found": dict(found),
            "url": url[:1000],
            "seen_at": now,
        },
    )
    if not created:
        changes = {"known": dict(known), "found": dict(found), "url": url[:1000], "seen_at": now}
        Alarm.objects.filter(pk=row.pk).update(times=F("times") + 1, **changes)
        row.refresh_from_db()
        return row
    dismissed = same.filter(state=AlarmState.DISMISSED).order_by("-pk").first()
    if dismissed is not None and dismissed.found == dict(found) and kind != AlarmKind.LIST_SHRANK:
        row.delete()
        Alarm.objects.filter(pk=dismissed.pk).update(times=F("times") + 1, seen_at=now)
        return dismissed
    record(
        Kind.UPSTREAM_ALARM_RAISED,
        actor_id=None,
        subject=subject,
        alarm=row.pk,
        what=str(kind),
        known=dict(known),
        found=dict(found),
        reason=sentence_of(row),
    )
    log.warning("upstream_alarm", kind=str(kind), subject=subject, known=dict(known), found=dict(found), url=url)
    return row


def open_alarms() -> QuerySet[Alarm]:
    return Alarm.objects.filter(state=AlarmState.OPEN)


def about(alarm: Alarm) -> str:
    """Say to operators what an open alarm means."""
    return f"At {alarm.upstream}. What was found is refused, and what is stored is served, until you decide."


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
    """Return whether `accept` can take it: other bytes only if the registry signed their sums."""
    if alarm.kind == AlarmKind.BYTES_CHANGED and not alarm.found.get("is_signed"):
        return False
    return alarm.kind in CAN_BE_ACCEPTED or bool(alarm.found.get("is_accepted_by_clients"))


def sentence_of(alarm: Alarm) -> str:
    """Both sides in one line, for mails and webhooks."""
    sides = [", ".join(f"{name} {value}" for name, value in side.items()) for side in (alarm.known, alarm.found)]
    return f"{alarm.get_kind_display()}: known {sides[0] or 'nothing'}; found {sides[1] or 'nothing'}."[:300]


@transaction.atomic
def accept(alarm: Alarm, *, actor: Viewer, reason: str) -> None:
    """Trust what was found from now on. Raises Conflict for what cannot be accepted, or is resolved."""
    reason = trust.checked_reason(reason)
    row = _locked(alarm)
    acting: dict[str, Callable[..., None]] = {
        AlarmKind.KEY_CHANGED: _accept_key,
        AlarmKind.BYTES_CHANGED: _accept_bytes,
        AlarmKind.NO_KEY: _accept_no_key,
        AlarmKind.SIGNATURE_BAD: _accept_signature,
        AlarmKind.LIST_SHRANK: _accept_list,
    }
    acting[row.kind](row, actor=actor, reason=reason)
    alarm.refresh_from_db()


@transaction.atomic
def dismiss(alarm: Alarm, *, actor: Viewer, reason: str) -> None:
    """Dismiss the alarm: what was known stays, and what was found stays refused. Raises Conflict if it is resolved.

    Stored versions that vanished from a list are served on.
    """
    reason = trust.checked_reason(reason)
    row = _locked(alarm)
    if row.kind == AlarmKind.KEY_CHANGED and (pin := _pin_of(row)) is not None:
        trust.decide_key(pin, actor=actor, is_trusted=False, reason=reason)
    trust.resolve(Alarm.objects.filter(pk=row.pk), AlarmState.DISMISSED, actor=actor, reason=reason)
    trust.let_again(row.upstream, row.namespace)
    if row.kind == AlarmKind.LIST_SHRANK:
        _decide_absence(row, Absence.KEPT)
    alarm.refresh_from_db()


def _accept_key(row: Alarm, *, actor: Viewer, reason: str) -> None:
    pin = _pin_of(row)
    if pin is None:
        raise Conflict(f"The key of {row.subject} is no longer known.", hint="Dismiss the alarm.")
    trust.decide_key(pin, actor=actor, is_trusted=True, reason=reason)


def _accept_no_key(row: Alarm, *, actor: Viewer, reason: str) -> None:
    trust.allow_unsigned(row.upstream, row.namespace, actor=actor, reason=reason)


def _accept_bytes(row: Alarm, *, actor: Viewer, reason: str) -> None:
    """Drop the record of the version: the next client has it fetched and verified again, with these bytes alone."""
    if not row.found.get("is_signed"):
        raise Conflict(
            "These bytes don't match the signed checksums, so they cannot be accepted.",
            hint="Dismiss the alarm: the version is fetched again when the registry has right bytes.",
        )
    version = row.version
    if version is None:
        raise Conflict(f"{row.subject} is no longer known.", hint="Dismiss the alarm.")
    packages = version.packages.select_related("blob")
    digests = [one.blob.digest for one in packages if one.blob is not None]
    trust.drop_records(UpstreamVersion.objects.filter(pk=version.pk))
    _resolve_accepted(row, actor=actor, reason=reason)
    for digest in digests:
        transaction.on_commit(partial(_remove, digest), robust=True)


def _accept_list(row: Alarm, *, actor: Viewer, reason: str) -> None:
    """The versions are really gone: clients no longer get them, whatever is stored."""
    _decide_absence(row, Absence.GONE)
    _resolve_accepted(row, actor=actor, reason=reason)


def _decide_absence(row: Alarm, absence: Absence) -> None:
    """Of what vanished from the list since staff last decided about it."""
    rows = UpstreamVersion.objects.filter(provider=row.provider_id, is_listed=False, absence=Absence.UNDECIDED)
    rows.update(absence=absence)


def _resolve_accepted(row: Alarm, *, actor: Viewer, reason: str) -> None:
    trust.resolve(Alarm.objects.filter(pk=row.pk), AlarmState.ACCEPTED, actor=actor, reason=reason)


def _accept_signature(row: Alarm, *, actor: Viewer, reason: str) -> None:
    if not row.found.get("is_accepted_by_clients"):
        raise Conflict(
            "A signature that does not match cannot be accepted.",
            hint="Ask the provider's publisher. Dismiss the alarm, and the version is fetched and checked again.",
        )
    trust.allow_unsigned(row.upstream, row.namespace, actor=actor, reason=reason, allows=Allows.WEAK_SIGNATURE)


def _remove(digest: str) -> None:
    """The bytes have no other use unless a reference says so. If storage is away, the eviction finds them later."""
    try:
        store.remove(digest)
    except store.StorageUnavailable as error:
        log.warning("upstream_bytes_left", digest=digest, error=str(error))


def _pin_of(row: Alarm) -> KeyPin | None:
    pins = KeyPin.objects.filter(upstream=row.upstream, namespace=row.namespace)
    mine = pins.filter(Q(provider=row.provider_id) | Q(provider=None)).order_by("pk")
    return mine.filter(fingerprint=str(row.found.get("fingerprint", ""))).first()


def _locked(alarm: Alarm) -> Alarm:
    rows = Alarm.objects.select_for_update(no_key=True, of=("self",)).select_related("upstream", "version__provider")
    row = rows.get(pk=alarm.pk)
    if row.state != AlarmState.OPEN:
        raise Conflict(f"This alarm was already {row.state}.")
    return row


def _namespace_of(upstream: Upstream, subject: str) -> str:
    """A subject begins with host/namespace."""
    rest = subject.removeprefix(f"{upstream.host}/")
    return rest.partition("/")[0].partition(" ")[0][:64]
