"""The end of a release's cool-down by an owner, with a reason. catalogue/showing.py ends it when its time has come."""

from django.db import transaction
from django.db.models.functions import Now

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind as Event
from apps.lib.errors import Conflict
from apps.releases.lifecycle.verbs import checked_reason
from apps.releases.models import Release, State


@transaction.atomic
def end(*, release: Release, actor: Viewer, reason: str) -> None:
    """Show one release to clients now. Raises Invalid, Conflict."""
    reason = checked_reason(reason)
    was = release.visible_at
    rows = Release.objects.filter(pk=release.pk, state=State.PUBLISHED, visible_at__gt=Now())
    if not rows.update(visible_at=None):
        raise Conflict(f"{release} is not in a cool-down.", hint="Clients see it already. Reload its page.")
    release.visible_at = None
    assert was is not None  # noqa: S101  # the row had one
    actor.record(
        Event.RELEASE_COOLDOWN_ENDED,
        subject=str(release),
        release=release.pk,
        reason=reason,
        would_have_ended=was.isoformat(),
    )
