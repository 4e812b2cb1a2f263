"""Root configurations, as pipelines reported them: which versions they have installed. A room receives the reports."""

from collections.abc import Collection, Iterable
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from apps.accounts.access.gate import Viewer, visible_teams
from apps.accounts.models import Membership, User
from apps.modules.models import Configuration, ConfigurationUse
from apps.releases.models import Release

# A configuration whose pipeline no longer runs is shown for this long.
LIFETIME = timedelta(days=90)


def uses_of(kind: str, namespace_id: int, name: str) -> QuerySet[ConfigurationUse]:
    """Reports of one module or provider that are not too old, newest first. For owners: the caller asks the gate."""
    return reports_of(Release.objects.published().filter(kind=kind, namespace=namespace_id, name=name))


def reports_of(releases: Iterable[Release]) -> QuerySet[ConfigurationUse]:
    """Reports of these versions, in whatever state, that are not too old, newest first. For owners, as `uses_of`."""
    since = timezone.now() - LIFETIME
    rows = ConfigurationUse.objects.filter(release__in=releases, configuration__reported_at__gt=since)
    return rows.select_related("configuration__reporter", "release").order_by("-configuration__reported_at", "pk")


def prune() -> int:
    return Configuration.objects.filter(reported_at__lte=timezone.now() - LIFETIME).delete()[0]


def reporter_names(viewer: Viewer, reporters: Collection[User]) -> dict[int, str]:
    """The names that the viewer may read, by number: a service account's team may be hidden from them."""
    machines = [one.pk for one in reporters if one.is_service]
    seen = Membership.objects.filter(user__in=machines, team__in=visible_teams(viewer)).values_list("user", flat=True)
    shown = set(seen) if machines else set()
    return {one.pk: one.shown_name for one in reporters if not one.is_service or one.pk in shown}
