"""Deprecate, yank, quarantine and restore a published version of any kind (D9).

Each verb is one conditional UPDATE with its audit row, so that of two at once the second raises. Permissions are
checked by `lifecycle.actions`. `people` are the accounts that the actor notifies in the same step: the audit row names
them, and mail of the event goes to them as well.
"""

from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind as Event
from apps.lib.errors import Conflict, Invalid
from apps.releases.lifecycle import messages
from apps.releases.models import Lifecycle, Release, State
from apps.releases.publishing.transitions import Moved

MAX_REASON_CHARACTERS = 500
MAX_REPLACEMENT_CHARACTERS = 200


@transaction.atomic
def deprecate(
    *,
    release: Release,
    actor: Viewer,
    reason: str,
    replacement: str = "",
    people: Collection[int] = (),
    by_rule: bool = False,
) -> None:
    """Advise against the version; it stays listed and served. Raises Invalid, Conflict.

    `by_rule`: a cleanup rule chose it.
    """
    reason, replacement = checked_reason(reason), checked_replacement(replacement)
    _refuse_unless_possible("deprecate", release)
    changes = {"lifecycle_reason": reason, "lifecycle_replacement": replacement}
    _set_lifecycle(release, actor, by_rule=by_rule, lifecycle=Lifecycle.DEPRECATED, **changes)
    told = notified(people) | _chosen(by_rule=by_rule)
    _record(Event.RELEASE_DEPRECATED, release, actor, reason, replacement=replacement, **told)


@transaction.atomic
def yank(
    *,
    release: Release,
    actor: Viewer,
    reason: str,
    replacement: str = "",
    people: Collection[int] = (),
    by_rule: bool = False,
) -> None:
    """Remove the version from lists; pages and exact downloads still work. Raises Invalid, Conflict.

    Without a replacement the one that a deprecation named stays. `by_rule`: a cleanup rule chose it.
    """
    reason, replacement = checked_reason(reason), checked_replacement(replacement) or release.lifecycle_replacement
    _refuse_unless_possible("yank", release)
    was = release.lifecycle
    changes = {"lifecycle_reason": reason, "lifecycle_replacement": replacement}
    _set_lifecycle(release, actor, by_rule=by_rule, lifecycle=Lifecycle.YANKED, **changes)
    told = notified(people) | _chosen(by_rule=by_rule)
    _record(Event.RELEASE_YANKED, release, actor, reason, before=was, replacement=replacement, **told)


@transaction.atomic
def quarantine(*, release: Release, actor: Viewer, reason: str, people: Collection[int] = ()) -> None:
    """Stop serving the version and every other release with the same bytes. Raises Invalid, Conflict."""
    reason = checked_reason(reason)
    _refuse_unless_possible("quarantine", release)
    now = timezone.now()
    _change(release, quarantined_at=now, quarantine_reason=reason, quarantined_by=actor.user)
    _record(Event.RELEASE_QUARANTINED, release, actor, reason, digest=release.digest, **notified(people))


@transaction.atomic
def restore(*, release: Release, actor: Viewer, reason: str) -> None:
    """End a quarantine (which leaves the lifecycle as it was), else a yank or a deprecation.

    A version that was deprecated and then yanked is maintained afterwards. Raises Invalid, Conflict.
    """
    reason = checked_reason(reason)
    _refuse_unless_possible("restore", release)
    if release.quarantined_at is not None:
        _change(release, quarantined_at=None, quarantine_reason="", quarantined_by=None)
        _record(Event.RELEASE_RESTORED, release, actor, reason, before="quarantined")
        return
    was = release.lifecycle
    nothing = {"lifecycle_reason": "", "lifecycle_replacement": "", "lifecycle_at": None, "lifecycle_by": None}
    _change(release, lifecycle=Lifecycle.MAINTAINED, **nothing)
    _record(Event.RELEASE_RESTORED, release, actor, reason, before=was)


@transaction.atomic
def end_cooldown(*, release: Release, actor: Viewer, reason: str) -> None:
    """Show one release to clients now; catalogue/showing.py does when its time has come. Raises Invalid, Conflict."""
    reason, was = checked_reason(reason), release.visible_at
    rows = Release.objects.filter(pk=release.pk, state=State.PUBLISHED, visible_at__gt=Now())
    if not rows.update(visible_at=None):
        raise Conflict(f"{release} is not in a cool-down.", hint="Clients see it already. Reload its page.")
    release.visible_at = None
    assert was is not None  # noqa: S101  # the row had one
    _record(Event.RELEASE_COOLDOWN_ENDED, release, actor, reason, would_have_ended=was.isoformat())


def checked_reason(text: str) -> str:
    """Return the text as one line. Raises Invalid if it is empty or too long."""
    hint = "Write one or two sentences for the users of this version."
    return _checked_line("reason", text, MAX_REASON_CHARACTERS, hint, least=1)


def checked_replacement(text: str) -> str:
    return _checked_line(
        "replacement", text, MAX_REPLACEMENT_CHARACTERS, "Name a module or a version, or write a few words."
    )


def standing_of(release: Release) -> str:
    """Return a sentence: `acme/vpc/aws 1.2.0 is yanked since 2026-11-20 14:03 UTC, by alice: it deletes …`."""
    if release.quarantined_at is not None:
        about = ("in quarantine", release.quarantined_at, release.quarantined_by, release.quarantine_reason)
    elif release.lifecycle_at is not None:
        about = (release.lifecycle, release.lifecycle_at, release.lifecycle_by, release.lifecycle_reason)
    else:
        return f"{release} is maintained."
    what, at, by, why = about
    nobody = "a cleanup rule" if at == release.cleaned_at else "a former user"
    who = by.username if by else nobody
    return f"{release} is {what} since {at:%Y-%m-%d %H:%M} UTC, by {who}: {ended(why)}"


def notified(people: Collection[int]) -> dict[str, Any]:
    """Return what the audit says of those whom the actor notifies."""
    return {"people": sorted(people)[: messages.MAX_PEOPLE]} if people else {}


def ended(text: str) -> str:
    return text if text[-1:] in (".", "!", "?") else f"{text}."


def obstacle_to(verb: str, release: Release) -> Conflict | None:
    """Return why the state of the release does not allow the verb; None if it does."""
    # A quarantine is about bytes, so it is lifted from a purged version as well.
    is_purgeable = verb == "purge" and release.state == State.PUBLISHED
    if release.quarantined_at is not None and (verb == "restore" or is_purgeable):
        return None
    said, hint = standing_of(release), ""
    if release.state != State.PUBLISHED:
        said = f"{release} is {release.state}: only published versions have a lifecycle."
    elif release.quarantined_at is not None:
        hint = "It can now only be restored or purged."
    elif verb == "deprecate" and release.lifecycle != Lifecycle.MAINTAINED:
        hint = "Restore it first, then deprecate it again."
    elif verb == "yank" and release.lifecycle == Lifecycle.YANKED:
        hint = "Restore it first to give another reason."
    elif verb == "restore" and release.lifecycle == Lifecycle.MAINTAINED:
        said = f"{release} is maintained: there is nothing to restore."
    else:
        return None
    return Conflict(said, hint=hint)


def _refuse_unless_possible(verb: str, release: Release) -> None:
    if obstacle := obstacle_to(verb, release):
        raise obstacle


def _set_lifecycle(release: Release, actor: Viewer, *, by_rule: bool, **changes: Any) -> None:
    now = timezone.now()
    changes |= {"cleaned_at": now} if by_rule else {}
    _change(release, lifecycle_at=now, lifecycle_by=actor.user, **changes)


def _chosen(*, by_rule: bool) -> dict[str, str]:
    """Say it in the audit."""
    return {"chosen_by": "cleanup rule"} if by_rule else {}


def _change(release: Release, **changes: Any) -> None:
    """Update the row if it is as this object says, else raise Moved."""
    same = Release.objects.filter(
        pk=release.pk, state=release.state, lifecycle=release.lifecycle, quarantined_at=release.quarantined_at
    )
    if same.update(**changes) != 1:
        raise Moved(f"Someone else has just changed {release}.", hint="Check it again before you continue.")
    for name, value in changes.items():
        setattr(release, name, value)


def _record(kind: Event, release: Release, actor: Viewer, reason: str, **detail: Any) -> None:
    actor.record(kind, subject=str(release), release=release.pk, reason=reason, **detail)


def _checked_line(what: str, text: str, most: int, hint: str, *, least: int = 0) -> str:
    line = " ".join(text.split())
    if len(line) < least:
        raise Invalid(f"The {what} is empty.", hint=hint)
    if len(line) > most:
        raise Invalid(f"The {what} has {len(line)} characters, expected at most {most}.", hint=hint)
    if not line.isprintable():
        raise Invalid(f"The {what} contains control characters, expected one line of plain text.", hint=hint)
    return line
