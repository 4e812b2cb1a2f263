"""Queries for the rows of both kinds that each belong to a published release."""

from typing import Self, TypeVar

from django.db import models
from django.db.models import Case, IntegerField, When
from django.db.models.functions import Now

from apps.releases.models import Lifecycle, visible_now

M = TypeVar("M", bound=models.Model)


class VersionQuerySet(models.QuerySet[M]):
    def published(self) -> Self:
        """Readable versions: all except those in quarantine."""
        return self.filter(release__quarantined_at=None)

    def unyanked(self) -> Self:
        """Versions that are neither yanked nor in quarantine, also those that clients do not see yet."""
        return self.published().exclude(release__lifecycle=Lifecycle.YANKED)

    def listed(self) -> Self:
        """Versions in version lists: neither yanked nor in quarantine nor held back by a cool-down."""
        return self.unyanked().filter(visible_now("release__"))

    def newest_first(self) -> Self:
        return self.order_by("-release__sort_key", "-pk")

    def default_first(self) -> Self:
        """The default version first: listed, stable, highest."""
        rank = Case(
            When(release__lifecycle=Lifecycle.YANKED, then=2),
            When(release__visible_at__gt=Now(), then=1),
            default=0,
            output_field=IntegerField(),
        )
        return self.order_by(rank, "is_prerelease", "-release__sort_key", "-pk")
