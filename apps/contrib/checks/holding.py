"""Releases that wait for checks, in the state of an approval, until the reports arrive or an owner says why not.

A worker asks `waits` with the release locked; a report is stored with the same lock, and then looks again. So a report
that arrives at that moment is either read by the worker, or finds a release that waits. What that misses
(a policy that changed, a job that had not ended) is found by `sweep`, each minute.
"""

from contextlib import suppress
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.access.people_only import people_only
from apps.accounts.models import Role
from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.contrib.checks import policy
from apps.contrib.checks.models import Hold, Mode
from apps.lib.errors import Conflict, Reason
from apps.releases.lifecycle.verbs import checked_reason
from apps.releases.models import Release, State
from apps.releases.publishing import approving, staging, transitions

# docs/checks.md names it.
LIFETIME = timedelta(days=14)
UNCHECKED = Reason(
    "checks_missing",
    "a release whose required checks were not sent, or did not pass",
    "their reports within 14 days",
    "Publish it again, and send the reports; the version number is free.",
)


def waits(release: Release) -> bool:
    """Return whether the release has to wait, and write down for what. In a transaction that has locked its row."""
    hold = Hold.objects.filter(release=release).first()
    if hold is not None and hold.waived_at is not None and hold.digest == release.digest:
        return False
    missing = policy.missing(release, mode=Mode.HOLD)
    if not missing:
        Hold.objects.filter(release=release).delete()
        return False
    now = timezone.now()
    waived = {"waived_at": None, "waived_by": None, "token_id": None, "reason": ""}
    asked = {"digest": release.digest, "missing": missing, "since": now, "until": now + LIFETIME}
    hold, _ = Hold.objects.update_or_create(release=release, defaults=asked | waived)
    record(
        Event.RELEASE_CHECKS_MISSING,
        actor_id=None,
        subject=str(release),
        release=release.pk,
        digest=release.digest,
        reason="; ".join(missing[:5]),
        until=hold.until.isoformat(),
    )
    return True


def look_again(release: Release) -> None:
    """Let the release continue if nothing is missing now. In the transaction that changed what counts."""
    hold = Hold.objects.filter(release=release, waived_at=None, release__state=State.AWAITING_APPROVAL).first()
    if hold is None:
        return
    hold.missing = policy.missing(release, mode=Mode.HOLD)
    hold.save(update_fields=["missing"])
    if not hold.missing:
        _resume(release)


def _resume(release: Release) -> None:
    # Its job has not ended yet, or someone else was first: the sweep tries again.
    with suppress(IntegrityError, transitions.Moved), transaction.atomic():
        approving.resume(release)


@people_only("waive a required check")
def waive(*, release: Release, actor: Viewer, digest: str, reason: str) -> None:
    """Publish it without what is missing. Owners, with a reason. Raises as the gate does, Conflict if it does not wait
    or the digest is another one, and Invalid for a missing reason.
    """
    gate.namespace_for(actor, release.namespace.name, need=Role.OWNER, only_name=release.name)
    reason = checked_reason(reason)
    hold = Hold.objects.filter(release=release, waived_at=None).first()
    if hold is None or release.state != State.AWAITING_APPROVAL:
        raise Conflict(f"{release} is {release.state}: it does not wait for checks.", hint="Reload its page.")
    if digest.strip().lower().removeprefix("sha256:") != hold.digest:
        raise Conflict(f"{release} has the digest sha256:{hold.digest}.", hint="Look at it again, and decide then.")
    with transaction.atomic():
        said = {"waived_at": timezone.now(), "waived_by": actor.user, "token_id": actor.token_id, "reason": reason}
        if Hold.objects.filter(pk=hold.pk, waived_at=None, digest=hold.digest).update(**said) != 1:
            raise Conflict(f"Someone else has decided about {release} just now.", hint="Reload its page.")
        detail = {"digest": hold.digest, "missing": hold.missing, "reason": reason}
        actor.record(Event.RELEASE_CHECKS_WAIVED, subject=str(release), release=release.pk, **detail)
        _resume(release)


def hold_of(release: Release) -> Hold | None:
    """Return what the release waits for, or what was waived for these bytes."""
    hold = Hold.objects.select_related("waived_by").filter(release=release).first()
    return hold if hold is not None and (hold.waived_at is None or hold.digest == release.digest) else None


def sweep() -> None:
    """Let releases continue that lack nothing now, and end those that have waited too long."""
    waiting = Hold.objects.filter(release__state=State.AWAITING_APPROVAL)
    # All of them: the oldest, which still lack something, must not keep the others from their turn.
    for hold in list(waiting.select_related("release__namespace").order_by("pk")):
        with transaction.atomic():
            release = Release.objects.select_for_update(no_key=True, of=("self",)).get(pk=hold.release_id)
            release.namespace = hold.release.namespace
            if hold.waived_at is not None:
                _resume(release)
            else:
                look_again(release)
    late = waiting.filter(waived_at=None, until__lt=timezone.now())
    for hold in late.select_related("release__namespace").order_by("pk"):
        with suppress(transitions.Moved):
            transitions.reject(hold.release, [UNCHECKED], sources=[State.AWAITING_APPROVAL])
            staging.discard(hold.release)
