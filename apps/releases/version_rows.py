"""Queries for the rows of both kinds that each belong to a published release."""

from typing import Self, TypeVar

from django.db import models
from django.db.models import Case, IntegerField, When

from apps.releases.models import Lifecycle

M = TypeVar("M", bound=models.Model)


class VersionQuerySet(models.QuerySet[M]):
    def published(self) -> Self:
        """Readable versions: all except those in quarantine."""
        return self.filter(release__quarantined_at=None)

    def listed(self) -> Self:
        """Versions in version lists: neither yanked nor in quarantine."""
        return self.published().exclude(release__lifecycle=Lifecycle.YANKED)

    def newest_first(self) -> Self:
        return self.order_by("-release__sort_key", "-pk")

    def default_first(self) -> Self:
        """The default version first: listed, stable, highest."""
        yanked = Case(When(release__lifecycle=Lifecycle.YANKED, then=1), default=0, output_field=IntegerField())
        return self.order_by(yanked, "is_prerelease", "-release__sort_key", "-pk")
