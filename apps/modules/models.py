from typing import Self

from django.db import models
from django.db.models import F, OuterRef, Subquery

from apps.accounts.models import Namespace
from apps.lib.addresses import ModuleAddress
from apps.releases.models import Release


class ModuleQuerySet(models.QuerySet["Module"]):
    def with_latest(self) -> Self:
        """Adds `latest` (version text) and `latest_at`: the highest stable version, else the highest pre-release."""
        newest = (
            ModuleVersion.objects.filter(module=OuterRef("pk"))
            .order_by("is_prerelease", "-release__sort_key", "-pk")
            .annotate(version=F("release__version"), at=F("release__published_at"))
        )
        return self.annotate(latest=Subquery(newest.values("version")[:1]), latest_at=Subquery(newest.values("at")[:1]))

    def alphabetical(self) -> Self:
        return self.order_by("namespace__name", "name", "system")


class Module(models.Model):
    """A module's address. It comes into being with its first published version."""

    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="modules")
    name = models.CharField(max_length=64)
    system = models.CharField(max_length=64)
    canonical = models.CharField(max_length=130, editable=False, help_text="name/system with - for _ (D10).")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ModuleQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["namespace", "canonical"], name="modules_address_once"),
        ]
        indexes = [models.Index(fields=["namespace", "name", "system"], name="modules_by_address")]

    def __str__(self) -> str:
        return str(self.address)

    @property
    def address(self) -> ModuleAddress:
        return ModuleAddress(self.namespace.name, self.name, self.system)


class ModuleVersionQuerySet(models.QuerySet["ModuleVersion"]):
    def newest_first(self) -> Self:
        return self.order_by("-release__sort_key", "-pk")


class ModuleVersion(models.Model):
    """What a published module release has beyond every release: its page's text and what its archive holds."""

    module = models.ForeignKey(Module, models.PROTECT, related_name="versions")
    release = models.OneToOneField(Release, models.PROTECT, related_name="module_version")
    is_prerelease = models.BooleanField()
    readme_html = models.TextField(blank=True)
    readme_renderer = models.CharField(
        max_length=20, blank=True, help_text="The renderer's version: re-render when it grows."
    )
    files = models.JSONField(default=list, help_text="[{name, size}] of the archive's regular files")

    objects = ModuleVersionQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["module", "is_prerelease"], name="modules_versions_stable")]

    def __str__(self) -> str:
        return str(self.release)
