from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.accounts.models import Namespace
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import Reason
from apps.releases.docs.models import DocsQuerySet, DocsRow
from apps.releases.models import Release
from apps.releases.version_rows import VersionQuerySet
from apps.signing.models import SigningKey


class ProviderQuerySet(models.QuerySet["Provider"]):
    def alphabetical(self) -> Self:
        return self.order_by("namespace__canonical", "type")


class Provider(models.Model):
    """A provider's address. The first published version creates it."""

    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="providers")
    type = models.CharField(max_length=63)
    description = models.CharField(max_length=300, blank=True)
    source_url = models.CharField(max_length=300, blank=True, help_text="The repository, for people and update bots.")
    notice = models.CharField(max_length=500, blank=True, help_text="Shown by clients as a warning at every init.")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ProviderQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["namespace", "type"], name="providers_address_once")]
        indexes = [
            models.Index(fields=["created_at"], name="providers_by_day"),
            models.Index(fields=["type"], name="providers_by_type", opclasses=["varchar_pattern_ops"]),
        ]

    def __str__(self) -> str:
        return str(self.address)

    @property
    def address(self) -> ProviderAddress:
        return ProviderAddress(self.namespace.name, self.type)


class Signing(models.TextChoices):
    """The two modes of D11."""

    PUBLISHER = "publisher", "Publisher-signed"
    REGISTRY = "registry", "Registry-signed"


class ProviderVersionQuerySet(VersionQuerySet["ProviderVersion"]):
    pass


class ProviderVersion(models.Model):
    """The provider part of a release: its packages, their sums and the key that signed them."""

    provider = models.ForeignKey(Provider, models.PROTECT, related_name="versions")
    release = models.OneToOneField(Release, models.PROTECT, related_name="provider_version")
    is_prerelease = models.BooleanField()
    protocols = models.JSONField(help_text='["5.0", "6.7"]')
    signing = models.CharField(max_length=9, choices=Signing.choices)
    key = models.ForeignKey(SigningKey, models.PROTECT, related_name="provider_versions")
    sums_digest = models.CharField(max_length=64, db_index=True, help_text="SHA-256 of SHA256SUMS.")
    signature_digest = models.CharField(max_length=64, db_index=True, help_text="SHA-256 of the detached signature.")
    index_digest = models.CharField(
        max_length=71, blank=True, help_text="Digest of its index in the OCI mirror; see providers.package_manifests."
    )

    objects = ProviderVersionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="providers_version_is_signed",
                condition=Q(sums_digest__regex=r"^[0-9a-f]{64}$", signature_digest__regex=r"^[0-9a-f]{64}$"),
            ),
        ]
        indexes = [
            models.Index(fields=["provider", "is_prerelease"], name="providers_versions_stable"),
            models.Index(fields=["provider", "index_digest"], name="providers_by_index"),
            models.Index(fields=["signing"], name="providers_by_signing"),
        ]
        permissions = [("resign_providerversion", "Can sign a version again")]

    def __str__(self) -> str:
        return str(self.release)


class FormerSignature(models.Model):
    """A version's signature from before it was signed again. The blob stays: links to it are in use (D11)."""

    version = models.ForeignKey(ProviderVersion, models.CASCADE, related_name="former_signatures")
    key = models.ForeignKey(SigningKey, models.PROTECT, related_name="+")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the detached signature.")
    replaced_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "digest"], name="providers_former_signature_once")]

    def __str__(self) -> str:
        return f"{self.version}, by {self.key}"


class Package(models.Model):
    """One zip of a provider version: its platform, and both hashes by which clients know it."""

    version = models.ForeignKey(ProviderVersion, models.CASCADE, related_name="packages")
    os = models.CharField(max_length=20)
    arch = models.CharField(max_length=20)
    filename = models.CharField(max_length=255)
    digest = models.CharField(max_length=64, db_index=True, help_text="SHA-256 of the zip, also written as zh:.")
    size = models.BigIntegerField(help_text="Size in bytes.")
    h1 = models.CharField(max_length=50, help_text="h1: hash of the unpacked files.")
    manifest_digest = models.CharField(
        max_length=71, blank=True, db_index=True, help_text="Digest of its manifest in the OCI mirror."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version", "os", "arch"], name="providers_platform_once"),
            models.UniqueConstraint(fields=["version", "filename"], name="providers_filename_once"),
            models.CheckConstraint(name="providers_package_digest", condition=Q(digest__regex=r"^[0-9a-f]{64}$")),
        ]
        # For the searches of operators.
        indexes = [
            models.Index(fields=["os", "arch"], name="providers_by_platform"),
            models.Index(fields=["arch"], name="providers_by_arch"),
            models.Index(fields=["filename"], name="providers_by_filename", opclasses=["varchar_pattern_ops"]),
        ]

    def __str__(self) -> str:
        return self.filename

    @property
    def platform(self) -> str:
        return f"{self.os}_{self.arch}"

    @property
    def zh(self) -> str:
        return f"zh:{self.digest}"

    @property
    def hashes(self) -> list[str]:
        return [self.h1, self.zh]


class DocsPage(DocsRow):
    """One page of a version's docs."""

    version = models.ForeignKey(ProviderVersion, models.CASCADE, related_name="docs_pages")

    objects = DocsQuerySet["DocsPage"].as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "kind", "slug"], name="providers_docs_page_once")]

    def __str__(self) -> str:
        return f"{self.version}: {self.name}"


class DocsState(models.TextChoices):
    RECEIVED = "received", "Received"
    SHOWN = "shown", "Shown"
    REPLACED = "replaced", "Replaced"
    REFUSED = "refused", "Refused"


class DocsArchive(models.Model):
    """A docs archive uploaded with a version's draft or later. At most one is shown."""

    version = models.ForeignKey(ProviderVersion, models.CASCADE, related_name="docs_archives")
    state = models.CharField(max_length=8, choices=DocsState.choices)
    staging_key = models.CharField(max_length=80, blank=True, help_text="Key in staging until a worker reads it.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the file.")
    size = models.BigIntegerField(help_text="Size in bytes.")
    reasons = models.JSONField(default=list, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version"], condition=Q(state="shown"), name="providers_docs_shown_once"),
            models.CheckConstraint(name="providers_docs_digest", condition=Q(digest__regex=r"^[0-9a-f]{64}$")),
        ]

    def __str__(self) -> str:
        return f"{self.version}: sha256:{self.digest}"

    def refusals(self) -> list[Reason]:
        return [Reason.from_dict(reason) for reason in self.reasons]
