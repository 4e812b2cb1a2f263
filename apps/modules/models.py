from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.accounts.models import Namespace
from apps.lib.addresses import ModuleAddress
from apps.releases.models import Release
from apps.releases.version_rows import VersionQuerySet

OCI = "oci://"


class ModuleQuerySet(models.QuerySet["Module"]):
    def alphabetical(self) -> Self:
        return self.order_by("namespace__canonical", "canonical")


class Module(models.Model):
    """A module's address. The first published version creates it."""

    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="modules")
    name = models.CharField(max_length=64)
    system = models.CharField(max_length=64)
    canonical = models.CharField(max_length=130, editable=False, help_text="name/system in lower case, with - for _.")
    description = models.CharField(
        max_length=300, blank=True, help_text="Shown in lists. Empty: the first words of the README."
    )
    source_url = models.CharField(max_length=300, blank=True, help_text="The repository, for people and update bots.")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ModuleQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["namespace", "canonical"], name="modules_address_once"),
        ]
        indexes = [
            models.Index(fields=["namespace", "name", "system"], name="modules_by_address"),
            models.Index(fields=["created_at"], name="modules_by_day"),
            models.Index(fields=["name"], name="modules_by_name", opclasses=["varchar_pattern_ops"]),
            models.Index(fields=["system"], name="modules_by_system"),
            models.Index(fields=["canonical"], name="modules_by_canonical"),
        ]

    def __str__(self) -> str:
        return str(self.address)

    @property
    def address(self) -> ModuleAddress:
        return ModuleAddress(self.namespace.name, self.name, self.system)


class ModuleVersionQuerySet(VersionQuerySet["ModuleVersion"]):
    def for_pages(self) -> Self:
        """Without the Markdown of READMEs: pages show the HTML, and the Markdown can be as large again."""
        return self.defer("readmes")

    def for_blocks(self) -> Self:
        """With what the inspection found, from which blocks to copy are written, and nothing else that is large."""
        return self.defer("readme_html", "readmes", "files")

    def without_texts(self) -> Self:
        """For lists: README, inspection and files can each be large."""
        return self.defer("readme_html", "readmes", "inspection", "files")


class ModuleVersion(models.Model):
    """The module part of a release: texts for its pages, and the files of its archive."""

    module = models.ForeignKey(Module, models.PROTECT, related_name="versions")
    release = models.OneToOneField(Release, models.PROTECT, related_name="module_version")
    is_prerelease = models.BooleanField()
    readme_html = models.TextField(blank=True)
    readmes = models.JSONField(
        null=True,
        help_text="Markdown by folder, with an empty folder for the root. null: inspected by an older Larder.",
    )
    readme_renderer = models.CharField(
        max_length=20, blank=True, help_text="Version of the renderer. A newer one renders again."
    )
    summary = models.CharField(max_length=300, blank=True, help_text="The first words of the README, as text.")
    inspection = models.JSONField(default=dict, help_text="{units: [...]}: see modules.inspection")
    inspector = models.CharField(
        max_length=20, blank=True, help_text="Version of the inspection rules. A newer one inspects again."
    )
    files = models.JSONField(
        default=list, help_text="[{name, size, at, packed, method}]: the position of each file in the zip."
    )
    health = models.JSONField(null=True, blank=True, help_text="Result of the health rules. null: not stored.")
    manifest_digest = models.CharField(
        max_length=135, blank=True, help_text="Digest of its OCI manifest; see modules.package_manifest."
    )

    objects = ModuleVersionQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["module", "is_prerelease"], name="modules_versions_stable"),
            models.Index(fields=["module", "manifest_digest"], name="modules_by_manifest"),
            models.Index(fields=["inspector", "readme_renderer"], name="modules_by_inspector"),
            models.Index(fields=["module"], condition=Q(is_prerelease=True), name="modules_prereleases"),
        ]
        permissions = [("reinspect_moduleversion", "Can inspect a version again")]

    def __str__(self) -> str:
        return str(self.release)

    @property
    def file_count(self) -> int:
        """Files in the archive; `files` may list fewer."""
        count = self.inspection.get("file_count")
        return count if isinstance(count, int) else len(self.files)


class ModuleCallQuerySet(models.QuerySet["ModuleCall"]):
    def to(self, address: ModuleAddress) -> Self:
        """Calls of the module, including `oci://` sources, which are in lower case."""
        calls = Q(target_namespace=address.namespace, target_name=address.name)
        if address.repository != str(address):
            over_oci = Q(target_namespace=address.namespace.lower(), target_name=address.name.lower())
            calls |= over_oci & Q(source__startswith=OCI)
        return self.filter(calls, target_system=address.system)

    def installed(self) -> Self:
        """Users of a module do not get what its examples call; older inspections list that too."""
        return self.exclude(unit__startswith="examples/")


class ModuleCall(models.Model):
    """A module block: a version builds on a module. `target_*` are empty if the module is not in this registry."""

    version = models.ForeignKey(ModuleVersion, models.CASCADE, related_name="calls")
    unit = models.CharField(max_length=300, blank=True, help_text="The folder that contains it. Empty: the root.")
    name = models.CharField(max_length=200)
    source = models.CharField(max_length=500)
    constraint = models.CharField(max_length=200, blank=True)
    target_namespace = models.CharField(max_length=64, blank=True)
    target_name = models.CharField(max_length=64, blank=True)
    target_system = models.CharField(max_length=64, blank=True)

    objects = ModuleCallQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["target_namespace", "target_name", "target_system"], name="modules_calls_by_target"),
        ]

    def __str__(self) -> str:
        return f"{self.name} -> {self.source}"


class ProviderRequirement(models.Model):
    """A version needs a provider of this registry. Its inspection has the other providers too."""

    version = models.ForeignKey(ModuleVersion, models.CASCADE, related_name="provider_requirements")
    unit = models.CharField(max_length=300, blank=True, help_text="Folder that declares it. Empty: the root.")
    constraint = models.CharField(max_length=200, blank=True)
    target_namespace = models.CharField(max_length=64, help_text="In lower case with - for _, as clients send it.")
    target_type = models.CharField(max_length=63)

    class Meta:
        indexes = [models.Index(fields=["target_namespace", "target_type"], name="modules_needs_by_target")]

    def __str__(self) -> str:
        return f"{self.version} -> {self.target_namespace}/{self.target_type}"


class Configuration(models.Model):
    """A root configuration, as its pipeline names it. Each account has its own, so that none replaces another's."""

    reporter = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="configurations")
    repository = models.CharField(max_length=300)
    folder = models.CharField(max_length=300, blank=True, help_text="Empty: the root of the repository.")
    reported_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["reporter", "repository", "folder"], name="modules_configuration_once")
        ]
        indexes = [models.Index(fields=["reported_at"], name="modules_configurations_by_age")]

    def __str__(self) -> str:
        return f"{self.repository}//{self.folder}" if self.folder else self.repository


class ConfigurationUse(models.Model):
    """A version of a module or provider that a configuration has installed."""

    configuration = models.ForeignKey(Configuration, models.CASCADE, related_name="uses")
    release = models.ForeignKey(Release, models.CASCADE, related_name="+")
    constraint = models.CharField(max_length=200, blank=True, help_text="Recorded in the lock file. Providers only.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["configuration", "release"], name="modules_configuration_use_once")
        ]

    def __str__(self) -> str:
        return f"{self.configuration} -> {self.release}"
