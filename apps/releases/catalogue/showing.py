"""Releases whose cool-down has ended: lists and searches say so, and the ready answers about them end."""

from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from apps.audit import generation
from apps.releases.catalogue import indexing
from apps.releases.models import Release, State

AT_ONCE = 500  # in one run


def show_due() -> int:
    """Refresh what lists and searches say of releases whose time has come, and end the ready answers about them."""
    due = Release.objects.filter(visible_at__lte=Now()).select_related("namespace").order_by("visible_at", "pk")
    releases = list(due[:AT_ONCE])
    for release in releases:
        with transaction.atomic():
            rows: Any = Release.objects.filter(pk=release.pk, visible_at__lte=Now())
            if rows.update(visible_at=None) and release.state == State.PUBLISHED:
                release.visible_at = None
                indexing.refreshers[release.kind](release)
                name = release.namespace.name
                generation.touch(
                    {generation.published_in(name), generation.published_at(release.address)}, subject=str(release)
                )
    return len(releases)
