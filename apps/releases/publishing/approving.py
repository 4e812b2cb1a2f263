"""A release waits until someone other than its author approves these very bytes. docs/approval.md tells of it.

The step of a worker is `require`, after all checks and before anything is stored for good. An approval lets the release
begin again: if the bytes then turn out to be others, it waits once more.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import reauthorising
from apps.accounts.models import Grant, Membership, Namespace, Role, User
from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.blobs import store
from apps.jobs import queue
from apps.lib.errors import Conflict, Invalid, Reason, RegistryError, RoleRequired
from apps.releases.models import Release, ReleaseQuerySet, State
from apps.releases.origin import authors
from apps.releases.origin.authors import Tie
from apps.releases.origin.rows import Approval, Decision
from apps.releases.origin.unusual import unusual
from apps.releases.publishing import staging, transitions
from apps.releases.publishing.pipeline import Work

# docs/approval.md names it.
LIFETIME = timedelta(days=14)
LONGEST_REASON = 500
_AGAIN = "Upload it again; the version number is free."
UNAPPROVED = Reason("not_approved", "a release without a decision", "an approval within 14 days", _AGAIN)

_TIES = {
    Tie.AUTHOR: "You published it yourself",
    Tie.SAME_PERSON: "It was published by another account of yours: both have the same identity or mail address",
    Tie.OWN_MACHINE: "Its author can make tokens of this service account",
    Tie.MACHINE: "It was published by a service account whose tokens you can make",
    Tie.SAME_TEAM: "It was published by a service account of the same people as this one",
    Tie.CI_RUN: "A run of a trusted publisher approves nothing",
}


def require(work: Work[Any], *, comparison: Callable[[], dict[str, Any]]) -> None:
    """Go on if the namespace asks for no approval or these bytes are approved; otherwise wait for one.

    `comparison` is for the approver, and may read storage.
    """
    release = work.release
    # By the row as it is now: the worker's may be from before the switch.
    if not Namespace.objects.filter(pk=release.namespace_id, requires_approval=True).exists():
        return
    known = Approval.objects.filter(release=release).first()
    if known is not None and known.allows(release.digest):
        return
    now = timezone.now()
    row: dict[str, Any] = {
        "digest": release.digest,
        "asked_at": now,
        "until": now + LIFETIME,
        "decision": Decision.WAITING,
        "comparison": comparison(),
        "unusual": unusual(release),
        **dict.fromkeys(("decided_at", "decided_by", "token_id"), None),
        "has_second_factor": False,
        "reason": "",
    }
    with transaction.atomic():
        work.claim.guard()
        Approval.objects.update_or_create(release=release, defaults=row)
        transitions.move(release, State.CHECKING, to=State.AWAITING_APPROVAL)
        record(
            Event.RELEASE_APPROVAL_REQUESTED,
            actor_id=None,
            subject=str(release),
            release=release.pk,
            digest=release.digest,
            unusual=row["unusual"],
            until=row["until"].isoformat(),
        )
    if work.archive_key:
        store.discard_staged(staging.repacked_key(release))  # made again once it is approved


def approve(*, release: Release, viewer: Viewer, digest: str, has_second_factor: bool = False) -> None:
    """Let the release with that digest be published. Safe for two at once: the second gets a Conflict.

    Raises as the gate does, RoleRequired for its author and without a second factor that is needed, and Conflict if it
    does not wait or the digest is not the one that was looked at.
    """
    row = _decidable(release, viewer, digest)
    if release.namespace.approval_needs_second_factor and not has_second_factor:
        raise _refused(release, viewer, "second-factor", _without_factor(viewer))
    try:
        with transaction.atomic():
            _decide(row, viewer, Decision.APPROVED, has_second_factor=has_second_factor)
            transitions.move(release, State.AWAITING_APPROVAL, to=State.RECEIVED)
            detail = {"digest": row.digest, "second_factor": has_second_factor}
            viewer.record(Event.RELEASE_APPROVED, subject=str(release), release=release.pk, **detail)
            queue.enqueue(f"publish-{release.kind}", target=release.pk, created_by_id=viewer.user_id)
    except IntegrityError:
        # The worker that asked has not finished its job yet.
        raise Conflict(f"{release} has only just been checked.", hint="Approve it again in a moment.") from None


def decline(*, release: Release, viewer: Viewer, digest: str, reason: str) -> None:
    """Reject the release with a reason, which frees its number. Raises as `approve`, and Invalid without a reason."""
    said = _clean(reason)
    if not said:
        raise Invalid("The reason is missing.", hint="Say what the author should change.")
    row = _decidable(release, viewer, digest)
    why = Reason("declined", f"a release that was declined: {said}", "an approval", _AGAIN)
    with transaction.atomic():
        _decide(row, viewer, Decision.DECLINED, reason=said)
        detail = {"digest": row.digest, "reason": said}
        viewer.record(Event.RELEASE_DECLINED, subject=str(release), release=release.pk, **detail)
        transitions.reject(release, [why], sources=[State.AWAITING_APPROVAL], actor_id=viewer.user_id)
    staging.discard(release)


def cancel(*, release: Release, viewer: Viewer) -> None:
    """The author takes it back. Others decline it, with a reason. The caller has asked the gate. Raises Conflict."""
    if viewer.user_id is None or viewer.user_id != release.created_by_id:
        raise Conflict(f"{release} awaits approval: only its author can cancel it.", hint="Decline it, with a reason.")
    reason = Reason("cancelled", "a release that its author cancelled before it was approved", "an approval", _AGAIN)
    transitions.reject(release, [reason], sources=[State.AWAITING_APPROVAL], actor_id=viewer.user_id)
    staging.discard(release)


def refusal_of(release: Release, viewer: Viewer) -> RegistryError | None:
    """Return why this viewer cannot decide about the release, as far as their person matters; None if they can.

    Their role and the second factor are asked for at the decision.
    """
    tie = authors.tie_of(release, viewer)
    return None if tie is None else _tied(tie)


def approvers_of(release: Release) -> QuerySet[User]:
    """Return the people who are asked: they have the role, and are not its author."""
    grants = Grant.objects.filter(namespace=release.namespace, role__gte=Role.PUBLISHER)
    members = Membership.objects.filter(team__in=grants.filter(team__isnull=False).values("team"))
    held = Q(pk__in=grants.filter(user__isnull=False).values("user")) | Q(pk__in=members.values("user"))
    people = User.objects.filter(held, is_active=True, is_service=False)
    tied = [one.pk for one in people if authors.tie_of(release, Viewer(one)) is not None]
    return people.exclude(pk__in=tied)


def waiting_for(viewer: Viewer) -> ReleaseQuerySet:
    """Return what awaits the viewer's approval, the oldest first, where they have a role: operators may do more."""
    if viewer.user is None or authors.is_run(viewer.user):
        return Release.objects.none()
    rows = authors.ties_of(viewer).among(Release.objects.filter(perhaps_for(viewer)))
    return rows.select_related("namespace", "created_by", "approval").order_by("approval__asked_at", "pk")


def perhaps_for(viewer: Viewer) -> Q:
    """Match what awaits approval where the viewer has the role: more than `waiting_for`, and cheap to ask."""
    granted = gate.grants_of(viewer.user).filter(role__gte=Role.PUBLISHER).values("namespace")
    within = gate.namespaces_with_role(viewer, Role.PUBLISHER).filter(pk__in=granted)
    waiting = Q(state=State.AWAITING_APPROVAL, namespace__in=within) & ~Q(created_by=viewer.user)
    if viewer.token is not None and viewer.token.only_name:
        waiting &= Q(name=viewer.token.only_name)
    return waiting


def _decidable(release: Release, viewer: Viewer, digest: str) -> Approval:
    """Ask everything that both decisions need. Each refusal is in the audit."""
    reauthorising.authorise_again(viewer, release.namespace, only_name=release.name)
    tie = authors.tie_of(release, viewer)
    if tie is not None:
        raise _refused(release, viewer, str(tie), _tied(tie))
    row = Approval.objects.filter(release=release).first()
    if release.state != State.AWAITING_APPROVAL or row is None:
        raise Conflict(f"{release} is {release.state}: it does not await approval.", hint="Reload its page.")
    if digest.strip().lower().removeprefix("sha256:") != row.digest:
        raise _refused(release, viewer, "digest", _changed(release, row, digest))
    return row


def _decide(row: Approval, viewer: Viewer, decision: Decision, **more: Any) -> None:
    """Of two decisions at once one finds no row. Raises Conflict."""
    waiting = Approval.objects.filter(pk=row.pk, decision=Decision.WAITING, digest=row.digest, asked_at=row.asked_at)
    by = {"decided_at": timezone.now(), "decided_by": viewer.user, "token_id": viewer.token_id}
    if waiting.update(decision=decision, **by, **more) != 1:
        raise Conflict(f"Someone else has decided about {row.release} just now.", hint="Reload its page.")


def _refused(release: Release, viewer: Viewer, why: str, error: RegistryError) -> RegistryError:
    viewer.record(Event.RELEASE_APPROVAL_REFUSED, subject=str(release), release=release.pk, why=why)
    return error


def _tied(tie: Tie) -> RoleRequired:
    return RoleRequired(f"{_TIES[tie]}: someone else has to decide.", hint="Ask another publisher or owner.")


def _without_factor(viewer: Viewer) -> RoleRequired:
    if viewer.token is not None:
        return RoleRequired(
            "This namespace asks for a second factor at each approval, and a token has none.",
            hint="Approve it on the release's page.",
        )
    return RoleRequired(
        "This namespace asks for a second factor at each approval, entered in the last ten minutes.",
        hint="Set one up on your account page, or confirm yours, and approve it again.",
    )


def _changed(release: Release, row: Approval, digest: str) -> Conflict:
    return Conflict(
        f"{release} changed in the meantime: its digest is sha256:{row.digest}, and you looked at {digest[:80]!a}.",
        hint="Look at what it contains now, and decide again.",
    )


def _clean(reason: str) -> str:
    """One line, without what does not print, as long as the column."""
    return "".join(one for one in " ".join(reason.split()) if one.isprintable())[:LONGEST_REASON].rstrip(". ")
