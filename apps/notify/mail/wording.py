"""The words of mails about events: the subject has the person and the object, the text what, why and until when."""

from collections.abc import Iterable
from datetime import datetime

from apps.accounts.access import connections
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.errors import Reason
from apps.notify.events import EVENTS
from apps.notify.notices import Notice, approval_switched, role_sentence
from apps.releases.models import Release
from apps.releases.origin.models import joined

MAX_CHANGES, MAX_NAMED = 50, 100


def moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def subject_of(notice: Notice, *, can_act: bool) -> str:
    """Return the subject for people who can act, or who are only told. A held release is told to its publisher."""
    if (of_room := EVENTS[notice.event].subject) is not None:
        return of_room(notice)
    by, said = _author(notice), notice.sentence.rstrip(".")
    match notice.event:
        case "release.awaiting-approval" if not can_act:
            said = f"{notice.subject} awaits approval by someone else"
        case "release.awaiting-approval":
            said = f"{by} asks you to approve {notice.subject}" if by else f"{notice.subject} awaits your approval"
        case "release.held":
            said = f"{notice.subject} needs your answer"
        case "release.rejected" if notice.by and _is_declined(notice):
            said = f"{notice.by} declined {notice.subject}"
        case "role.granted" | "role.withdrawn" if "team" not in notice.more:
            said = role_sentence(notice, "you" if notice.by else "You", "are now")
        case "usage.notified":
            said = f"{notice.by or 'An owner'} wrote to users of {notice.subject}"
        case "namespace.changed" if (is_on := approval_switched(notice)) is not None:
            said = f"{notice.by or 'Someone'} switched approval {'on' if is_on else 'off'} for {notice.subject}"
    return said


def lines_of(notice: Notice, *, can_act: bool) -> Iterable[str]:
    yield f"{subject_of(notice, can_act=can_act)}."
    if notice.release is not None and notice.event in ("release.held", "release.rejected", "release.failed"):
        reasons = notice.release.questions if notice.event == "release.held" else notice.release.reasons
        for reason in reasons:
            yield Reason.from_dict(reason).sentence
    if notice.release is not None and notice.event == "release.held" and notice.release.held_until:
        until = moment(notice.release.held_until)
        yield f"The number is reserved until {until}. Without an answer, the release is then rejected."
    if notice.release is not None and notice.event == "release.awaiting-approval":
        yield from _awaiting(notice, notice.release)
    yield from _connections(notice)
    yield from _switched(notice)
    yield from (f"Worth a look: {sentence}" for sentence in notice.more.get("unusual", ()))
    if notice.breaking:
        yield notice.breaking
        if notice.release is not None and notice.release.breaking_reason:
            yield f"Its publisher says: {notice.release.breaking_reason}"
    if notice.message:
        yield notice.message
    if notice.reason:
        yield f"Reason: {notice.reason}"
    if replacement := notice.more.get("replacement"):
        yield f"Use instead: {replacement}"


def _awaiting(notice: Notice, release: Release) -> Iterable[str]:
    approval = joined(release, "approval")
    yield f"Published by: {release.created_by.shown_name if release.created_by else 'a former user'}"
    if approval is None:
        return
    yield f"Changes: {approval.summary}"
    if release.breaking_reason:
        yield f"Its publisher says: {release.breaking_reason}"
    number = notice.version or "the number"
    yield f"Expires: {moment(approval.until)}. Without a decision it is then rejected, and {number} is free again."


def _author(notice: Notice) -> str:
    """The person who published what awaits approval; empty for a machine."""
    by = notice.release.created_by if notice.release is not None else None
    return "" if by is None or by.is_service else by.shown_name


def _is_declined(notice: Notice) -> bool:
    release = notice.release
    return release is not None and any(reason.get("code") == "declined" for reason in release.reasons)


def _connections(notice: Notice) -> Iterable[str]:
    found = notice.more.get("connections", ())
    yield from (f"- {connections.noun_of(one['kind'])} {one['name']}" for one in found)
    if more := notice.more.get("not_listed"):
        yield f"and {more:,} more"
    if found and notice.event == "connections.left-behind":
        yield "They still work. Confirm each of them, or remove it."
    elif found:
        yield "Confirm each that the namespace needs, and remove the others."
        yield "Replace credentials and secrets that the former owner knows."
    if known := notice.more.get("secrets"):
        yield "A former owner may still know these, which work. Replace each that they should no longer have:"
        yield from (f"- {one['kind']} {one['name']}" for one in known)


def _switched(notice: Notice) -> Iterable[str]:
    """An owner can switch it off, publish, and switch it on again: the others read what was published meanwhile."""
    is_on = approval_switched(notice)
    if is_on is None or notice.namespace is None:
        return
    if not is_on:
        yield "Its releases no longer need approval: Larder publishes what it has checked."
        return
    yield "From now on, its releases need approval by another person."
    events = AuditEvent.objects.filter(namespace=notice.namespace.canonical, kind=Kind.NAMESPACE_CHANGED)
    before = events.filter(pk__lt=notice.event_id).order_by("-at", "-pk")[:MAX_CHANGES]
    off = next((one for one in before if one.detail.get("changes", {}).get("requires_approval") == [True, False]), None)
    if off is None:
        return
    rows = Release.objects.filter(namespace=notice.namespace, published_at__gte=off.at, published_at__lte=notice.at)
    found = [str(one) for one in rows.exclude(approval__decision="approved").order_by("published_at", "pk")[:MAX_NAMED]]
    if found:
        yield f"It was switched off on {moment(off.at)}. Published since then without approval:"
        yield from (f"- {name}" for name in found)
