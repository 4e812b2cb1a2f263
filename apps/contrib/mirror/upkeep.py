"""Work that follows the reading of a list, before a client asks for it: records of versions, first or again."""

from collections.abc import Collection

from django.db.models import F
from django.utils import timezone

from apps.contrib.mirror import policy
from apps.contrib.mirror.models import UpstreamProvider
from apps.lib import versions

# Of the versions whose bytes are stored, those come first that were looked at longest ago: each has its turn.
MAX_LOOKS = 3
MAX_CHANGED = 20


def due(provider: int, changed: Collection[int]) -> list[int]:
    """Return the versions to look at. `changed`: those with platforms for which their sums have no line.

    A registry that replaces the bytes of a version says so in its sums alone, not in its list.
    """
    row = UpstreamProvider.objects.select_related("upstream").filter(pk=provider).first()
    if row is None or row.failure or row.listed_at is None:
        return []
    verified = row.versions.exclude(verdict="")
    if not verified.exists():
        return _newest(row)
    stored = verified.filter(is_listed=True, packages__blob__isnull=False).exclude(pk__in=changed)
    longest_ago = stored.order_by(F("tried_at").asc(nulls_first=True), "pk").values_list("pk", flat=True).distinct()
    return [*sorted(changed, reverse=True)[:MAX_CHANGED], *longest_ago[:MAX_LOOKS]]


def _newest(provider: UpstreamProvider) -> list[int]:
    """Return the version that a client without constraints installs: it asks for that next."""
    decisions = policy.decisions(provider, now=timezone.now())
    shown = [version for version, decision in decisions.items() if decision.is_visible]
    released = [version for version in shown if not versions.parse(version.version).is_prerelease] or shown
    return [version.pk for version in released[:1] if not version.failure]  # the highest comes first
