"""The keys of upstreams and the namespaces for which a registry names none: lists for staff, and their decisions."""

from typing import Any

from django.db import transaction
from django.db.models import Case, Count, IntegerField, Q, QuerySet, When
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit import generation
from apps.audit.kinds import Kind
from apps.contrib.mirror import stored_sums
from apps.contrib.mirror.models import (
    Alarm,
    AlarmKind,
    AlarmState,
    Allows,
    KeyPin,
    KeyState,
    UnsignedAllowance,
    Upstream,
    UpstreamPackage,
    UpstreamVersion,
    Verdict,
)
from apps.lib.errors import Conflict, Invalid, NotFound, existing

MAX_REASON_CHARACTERS = 300


def subject_of_key(pin: KeyPin) -> str:
    """The subject of the alarm about a key: each new key of a provider has its own."""
    return f"{pin.about} key {pin.fingerprint}"


def subject_of_namespace(upstream: Upstream, namespace: str) -> str:
    return f"{upstream}/{namespace}"


@transaction.atomic
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


def decide_key(pin: KeyPin, *, actor: Viewer, is_trusted: bool, reason: str) -> None:
    """Trust a key from now on, or refuse it. Its alarm is resolved, and what it signed may be fetched again.

    Refusing a key that was trusted takes back what it proved: the records of its versions are dropped, and clients are
    refused them from then on. Versions that another key has signed are fetched and verified again.
    """
    state = KeyState.TRUSTED if is_trusted else KeyState.REFUSED
    reason = checked_reason(reason)
    now = timezone.now()
    row = (
        KeyPin.objects.select_for_update(no_key=True, of=("self",))
        .select_related("upstream", "provider__upstream")
        .get(pk=pin.pk)
    )
    if row.state == state:
        raise Conflict(f"The key {row.fingerprint} is already {state}.")
    KeyPin.objects.filter(pk=row.pk).update(state=state, decided_at=now, decided_by=actor.user, reason=reason)
    actor.record(
        Kind.UPSTREAM_KEY_PINNED,
        subject=row.about,
        fingerprint=row.fingerprint,
        state=str(state),
        before=row.state,
        reason=reason,
    )
    if not is_trusted:
        drop_records(UpstreamVersion.objects.filter(key=row))
    found = Alarm.objects.filter(upstream=row.upstream, kind=AlarmKind.KEY_CHANGED, subject=subject_of_key(row))
    resolve(found, AlarmState.ACCEPTED if is_trusted else AlarmState.DISMISSED, actor=actor, reason=reason)
    let_again(row.upstream, row.namespace)
    pin.refresh_from_db()


@transaction.atomic
def allow_unsigned(
    upstream: Upstream, namespace: str, *, actor: Viewer, reason: str, allows: str = Allows.NO_KEY
) -> UnsignedAllowance:
    """Accept providers of this namespace although the registry names no key for them, or with weak signatures.

    Safe to repeat.
    """
    reason = checked_reason(reason)
    row, created = UnsignedAllowance.objects.get_or_create(
        upstream=upstream, namespace=namespace, allows=allows, defaults={"reason": reason, "created_by": actor.user}
    )
    if not created:
        # Renewed: it counts only for what was known when staff decided, see signature_checks.
        UnsignedAllowance.objects.filter(pk=row.pk).update(
            reason=reason, created_by=actor.user, created_at=timezone.now()
        )
        row.refresh_from_db()
    _record_allowance(row, actor=actor, is_allowed=True, reason=reason)
    kind = AlarmKind.NO_KEY if allows == Allows.NO_KEY else AlarmKind.SIGNATURE_BAD
    found = Alarm.objects.filter(upstream=upstream, kind=kind, subject=subject_of_namespace(upstream, namespace))
    resolve(found, AlarmState.ACCEPTED, actor=actor, reason=reason)
    let_again(upstream, namespace)
    return row


@transaction.atomic
def withdraw_unsigned(
    upstream: Upstream, namespace: str, *, actor: Viewer, reason: str, allows: str = Allows.NO_KEY
) -> None:
    """Withdraw the allowance: what was accepted stays stored; new versions of that kind are refused again. Raises
    NotFound.
    """
    reason = checked_reason(reason)
    row = UnsignedAllowance.objects.filter(upstream=upstream, namespace=namespace, allows=allows).first()
    if row is None:
        raise NotFound(f"This is not allowed for {upstream}/{namespace[:64]}.")
    row.delete()
    _record_allowance(row, actor=actor, is_allowed=False, reason=reason)


def resolve(found: QuerySet[Alarm], state: AlarmState, *, actor: Viewer, reason: str) -> int:
    """Close the open ones among these alarms, each with a row in the audit. In the caller's transaction."""
    done = 0
    for alarm in found.filter(state=AlarmState.OPEN).order_by("pk"):
        won = Alarm.objects.filter(pk=alarm.pk, state=AlarmState.OPEN).update(
            state=state, resolved_at=timezone.now(), resolved_by=actor.user, reason=reason
        )
        if not won:
            continue
        done += 1
        actor.record(
            Kind.UPSTREAM_ALARM_RESOLVED,
            subject=alarm.subject,
            alarm=alarm.pk,
            what=alarm.kind,
            state=str(state),
            known=alarm.known,
            found=alarm.found,
            reason=reason,
        )
    return done


def drop_records(found: QuerySet[UpstreamVersion]) -> None:
    """Forget what was verified of these versions, in the caller's transaction. Nothing of them is served then.

    Their bytes have lost their reference: the garbage collection removes them.
    """
    rows = list(found.select_related("provider__upstream").defer("sums", "signature"))
    numbers = [row.pk for row in rows]
    packages = UpstreamPackage.objects.filter(version__in=numbers)
    upstreams = {row.provider.upstream_id for row in rows}
    with stored_sums.changing(upstreams, packages.values_list("digest", flat=True)):
        packages.delete()
    UpstreamVersion.objects.filter(pk__in=numbers).update(
        verdict=Verdict.NONE,
        verified_at=None,
        sums=b"",
        signature=b"",
        key=None,
        index_digest="",
        retry_at=None,
        failure={},
    )
    generation.touch({generation.published_at(str(row.provider)) for row in rows})


def let_again(upstream: Upstream, namespace: str) -> None:
    """Forget failures of versions and packages: the next client has them fetched."""
    found = UpstreamVersion.objects.filter(provider__upstream=upstream, provider__namespace=namespace)
    found.exclude(failure={}).update(retry_at=None, failure={})
    packages = UpstreamPackage.objects.filter(version__in=found).exclude(failure={})
    packages.update(retry_at=None, failure={})


def checked_reason(reason: str) -> str:
    """Raises Invalid."""
    text = reason.strip()
    if not text:
        raise Invalid("The reason is empty.", hint="Enter a reason for the audit log.")
    if len(text) > MAX_REASON_CHARACTERS:
        raise Invalid(
            f"The reason has {len(text)} characters, expected at most {MAX_REASON_CHARACTERS}.", hint="Shorten it."
        )
    return text


def _record_allowance(row: UnsignedAllowance, *, actor: Viewer, is_allowed: bool, reason: str) -> None:
    detail: dict[str, Any] = {"allows": row.allows, "is_allowed": is_allowed, "reason": reason}
    subject = subject_of_namespace(row.upstream, row.namespace)
    actor.record(Kind.UPSTREAM_UNSIGNED_ALLOWED, subject=subject, **detail)
