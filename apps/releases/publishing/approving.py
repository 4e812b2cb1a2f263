"""A release waits until someone who took no part in it approves these very bytes. docs/approval.md tells of it.

The step of a worker is `require`, after all checks and before anything is stored for good. An approval, or the second
of two, lets the release begin again: if the bytes then turn out to be others, it waits once more. `deciding` says who
can.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import reauthorising
from apps.accounts.models import Namespace, Role
from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.blobs import store
from apps.jobs import queue
from apps.lib.archives.sandboxed import Refusal
from apps.lib.errors import Conflict, Invalid, Reason, RegistryError, RoleRequired
from apps.releases.models import Release, ReleaseQuerySet, State
from apps.releases.origin import authors
from apps.releases.origin.authors import Bond, Tie
from apps.releases.origin.models import Approval, Decision
from apps.releases.origin.unusual import unusual
from apps.releases.publishing import deciding, staging, transitions
from apps.releases.publishing.pipeline import Work

# docs/approval.md names it.
LIFETIME = timedelta(days=14)
LONGEST_REASON = 500
_AGAIN = "Upload it again; the version number is free."
# What rooms ask beside the approval of a person. Each returns whether the release has to wait, and writes down for
# what, in a transaction that has locked its row. By registry_site/wiring.py.
conditions: tuple[Callable[[Release], bool], ...] = ()
UNAPPROVED = Reason("not_approved", "a release without a decision", "an approval within 14 days", _AGAIN)

SUSPENDED = Reason(
    "suspended",
    "a release of a connection that is suspended",
    "a connection that an owner has confirmed",
    "Confirm it on the page of the namespace's connections, then publish this again.",
)


def require(work: Work[Any], *, comparison: Callable[[], dict[str, Any]]) -> None:
    """Return if nothing has to be waited for; otherwise have the release wait for a person or for what rooms ask.

    `comparison` is for the approver, and may read storage. Raises Refusal for what a connection has sent that is
    suspended by now.
    """
    release = work.release
    if authors.is_suspended(release):
        raise Refusal([SUSPENDED])
    row = _to_approve(release, comparison)
    if row is None and not conditions:
        return
    with transaction.atomic():
        work.claim.guard()
        Release.objects.select_for_update(no_key=True).get(pk=release.pk)
        waiting = [condition(release) for condition in conditions]
        if row is None and not any(waiting):
            return
        transitions.move(release, State.CHECKING, to=State.AWAITING_APPROVAL)
        if row is not None:
            _ask(release, row)
    if work.archive_key:
        store.discard_staged(staging.repacked_key(release))  # made again once it is approved


def _to_approve(release: Release, comparison: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    """The columns of its approval; None if the namespace asks for none, or these bytes are approved."""
    # By the row as it is now: the worker's may be from before the switch.
    namespace = Namespace.objects.filter(pk=release.namespace_id, requires_approval=True).first()
    if namespace is None:
        return None
    known = Approval.objects.filter(release=release).first()
    if known is not None and known.allows(release.digest):
        return None
    needs_two = namespace.approval_needs_two_people or settings.APPROVALS_NEED_TWO_PEOPLE
    now = timezone.now()
    return {
        "digest": release.digest,
        "needs_two": needs_two and authors.is_automated(release),
        "asked_at": now,
        "until": now + LIFETIME,
        "decision": Decision.WAITING,
        "comparison": comparison(),
        "unusual": unusual(release),
        **dict.fromkeys(("first_at", "first_by", "decided_at", "decided_by", "token_id"), None),
        **dict.fromkeys(("first_has_second_factor", "has_second_factor"), False),
        "reason": "",
    }


def _ask(release: Release, row: dict[str, Any]) -> None:
    Approval.objects.update_or_create(release=release, defaults=row)
    record(
        Event.RELEASE_APPROVAL_REQUESTED,
        actor_id=None,
        subject=str(release),
        release=release.pk,
        digest=release.digest,
        unusual=row["unusual"],
        until=row["until"].isoformat(),
    )


def awaits_person(release: Release) -> bool:
    """Return whether someone has to approve it: others wait for what rooms ask alone."""
    return Approval.objects.filter(release=release, decision=Decision.WAITING).exists()


def resume(release: Release) -> None:
    """Let a release begin again that waited for what a room asks, unless someone still has to approve it.

    Raises Moved, and IntegrityError while the job that had it wait has not ended.
    """
    if not awaits_person(release):
        transitions.move(release, State.AWAITING_APPROVAL, to=State.RECEIVED)
        queue.enqueue(f"publish-{release.kind}", target=release.pk, created_by_id=release.created_by_id)


def approve(*, release: Release, viewer: Viewer, digest: str, has_second_factor: bool = False) -> bool:
    """Let the release with that digest be published; return whether it is, or waits for a second person.

    Safe for two at once: the second gets a Conflict. Raises as the gate does, RoleRequired for those who took part and
    without a second factor that is needed, and Conflict if it does not wait, or the digest is not the one that was
    looked at.
    """
    row = _decidable(release, viewer, digest, deciding.bond_of)
    if authors.is_suspended(release):
        raise Conflict("The connection that published it is suspended.", hint=SUSPENDED.hint)
    if release.namespace.approval_needs_second_factor and not has_second_factor:
        raise _refused(release, viewer, "second-factor", _without_factor(viewer))
    detail = {"digest": row.digest, "second_factor": has_second_factor}
    if row.needs_two and row.first_at is None:
        with transaction.atomic():
            first = {"first_by": viewer.user, "first_has_second_factor": has_second_factor}
            _write(row, first_at=timezone.now(), **first)
            viewer.record(Event.RELEASE_APPROVED_FIRST, subject=str(release), release=release.pk, **detail)
        return False
    try:
        with transaction.atomic():
            _decide(row, viewer, Decision.APPROVED, has_second_factor=has_second_factor)
            transitions.move(release, State.AWAITING_APPROVAL, to=State.RECEIVED)
            viewer.record(Event.RELEASE_APPROVED, subject=str(release), release=release.pk, **detail)
            queue.enqueue(f"publish-{release.kind}", target=release.pk, created_by_id=viewer.user_id)
    except IntegrityError:
        # The worker that asked has not finished its job yet.
        raise Conflict(f"{release} has only just been checked.", hint="Approve it again in a moment.") from None
    return True


def decline(*, release: Release, viewer: Viewer, digest: str, reason: str) -> None:
    """Reject the release with a reason, which frees its number. Raises as `approve`, and Invalid without a reason."""
    # One line, without what does not print, as long as the column.
    said = "".join(one for one in " ".join(reason.split()) if one.isprintable())[:LONGEST_REASON].rstrip(". ")
    if not said:
        raise Invalid("The reason is missing.", hint="Say what the author should change.")
    row = _decidable(release, viewer, digest, lambda release, viewer, _: authors.bond_of(release, viewer))
    why = Reason("declined", f"a release that was declined: {said}", "an approval", _AGAIN)
    with transaction.atomic():
        _decide(row, viewer, Decision.DECLINED, reason=said)
        detail = {"digest": row.digest, "reason": said}
        viewer.record(Event.RELEASE_DECLINED, subject=str(release), release=release.pk, **detail)
        transitions.reject(release, [why], sources=[State.AWAITING_APPROVAL], actor_id=viewer.user_id)
    staging.discard(release)


def cancel(*, release: Release, viewer: Viewer) -> None:
    """Cancel the request: the author may, and others who took part in it; a machine cannot. Others decline it, with a
    reason.

    The caller has asked the gate. Raises Conflict.
    """
    if awaits_person(release) and not may_cancel(release, viewer):
        raise Conflict(
            f"{release} awaits approval: only its author, and those who took part in it, can cancel it.",
            hint="Decline it, with a reason.",
        )
    by = "its author" if viewer.user_id == release.created_by_id else "another publisher"
    if may_cancel(release, viewer) and viewer.user_id != release.created_by_id:
        by = "someone who took part in it"
    reason = Reason("cancelled", f"a release that {by} cancelled before it was approved", "an approval", _AGAIN)
    transitions.reject(release, [reason], sources=[State.AWAITING_APPROVAL], actor_id=viewer.user_id)
    staging.discard(release)


def may_cancel(release: Release, viewer: Viewer) -> bool:
    if viewer.user is None:
        return False
    if viewer.user_id == release.created_by_id:
        return True
    bond = authors.bond_of(release, viewer)
    return bond is not None and bond.tie != Tie.CI_RUN


def may_decline(release: Release, viewer: Viewer) -> bool:
    """Return whether the viewer's person may decline the release. Who approved it first, of two people, may decline it
    too.
    """
    return authors.bond_of(release, viewer) is None


def waiting_for(viewer: Viewer) -> ReleaseQuerySet:
    """Return what awaits the viewer's approval, the oldest first, where they have a role: operators may do more."""
    if viewer.user is None or authors.is_run(viewer.user):
        return Release.objects.none()
    ties = authors.ties_of(viewer)
    rows = ties.among(Release.objects.filter(perhaps_for(viewer)))
    rows = rows.exclude(approval__needs_two=True, approval__first_by__in=list(ties.accounts))
    if viewer.user.is_service:
        rows = rows.exclude(approval__needs_two=True)
    return rows.select_related("namespace", "created_by", "approval").order_by("approval__asked_at", "pk")


def perhaps_for(viewer: Viewer) -> Q:
    """Match what awaits approval where the viewer has the role: more than `waiting_for`, and cheap to ask."""
    within = gate.namespaces_with_role(viewer, Role.PUBLISHER)
    if gate.operates(viewer):  # they have every role: only what was granted counts here
        within = within.filter(pk__in=gate.grants_of(viewer.user).filter(role__gte=Role.PUBLISHER).values("namespace"))
    waiting = Q(state=State.AWAITING_APPROVAL, approval__decision=Decision.WAITING, namespace__in=within)
    waiting &= ~Q(created_by=viewer.user_id)
    if viewer.token is not None and viewer.token.only_name:
        waiting &= Q(name=viewer.token.only_name)
    return waiting


def _decidable(
    release: Release, viewer: Viewer, digest: str, bond_of: Callable[[Release, Viewer, Approval | None], Bond | None]
) -> Approval:
    """Ask everything that both decisions need. Each refusal is in the audit."""
    reauthorising.authorise_again(viewer, release.namespace, only_name=release.name)
    row = deciding.approval_of(release)
    if (bond := bond_of(release, viewer, row)) is not None:
        raise _refused(release, viewer, str(bond.tie), deciding.refusal(release, bond))
    if release.state != State.AWAITING_APPROVAL or row is None or row.decision != Decision.WAITING:
        raise Conflict(f"{release} is {release.state}: it does not await approval.", hint="Reload its page.")
    if digest.strip().lower().removeprefix("sha256:") != row.digest:
        raise _refused(release, viewer, "digest", _changed(release, row, digest))
    return row


def _decide(row: Approval, viewer: Viewer, decision: Decision, **more: Any) -> None:
    """Of two decisions at once one finds no row. Raises Conflict."""
    _write(row, decision=decision, decided_at=timezone.now(), decided_by=viewer.user, token_id=viewer.token_id, **more)


def _write(row: Approval, **changes: Any) -> None:
    """If nothing was decided since the row was read, neither by the first of two. Raises Conflict."""
    as_read = {name: getattr(row, name) for name in ("digest", "asked_at", "first_at")}
    waiting = Approval.objects.filter(pk=row.pk, decision=Decision.WAITING, **as_read)
    if waiting.update(**changes) != 1:
        raise Conflict(f"Someone else has decided about {row.release} just now.", hint="Reload its page.")


def _refused(release: Release, viewer: Viewer, why: str, error: RegistryError) -> RegistryError:
    viewer.record(Event.RELEASE_APPROVAL_REFUSED, subject=str(release), release=release.pk, why=why)
    return error


def _without_factor(viewer: Viewer) -> RoleRequired:
    if viewer.token is not None:
        return RoleRequired(
            "This namespace requires a second factor for each approval, and a token has none.",
            hint="Approve it on the release's page.",
        )
    return RoleRequired(
        "This namespace requires a second factor for each approval, entered in the last ten minutes.",
        hint="Set one up on your account page, or confirm yours, and approve it again.",
    )


def _changed(release: Release, row: Approval, digest: str) -> Conflict:
    return Conflict(
        f"{release} changed in the meantime: its digest is sha256:{row.digest}, and you looked at {digest[:80]!a}.",
        hint="Review its current contents, and decide again.",
    )
