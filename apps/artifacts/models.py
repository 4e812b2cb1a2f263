import uuid
from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.accounts.models import ApiToken, Namespace
from apps.artifacts.names import RepositoryAddress, address_of, name_of
from apps.blobs.models import Blob
from apps.lib.addresses import ModuleAddress

# The counters of a garbage collection.
COLLECTED = ("uploads", "tags", "manifests", "repository_blobs", "blobs", "bytes")
_DIGEST = r"^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$"


class Repository(models.Model):
    """A module's repository or a plain one, created by the first push. A module without pushes is served without a row;
    a provider's repository never has one. The namespace decides visibility and rights (D8).
    """

    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="repositories")
    path = models.CharField(
        max_length=255,
        blank=True,
        help_text="The part after the namespace, in lower case, such as vpc/aws. Empty: only the namespace.",
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["namespace", "path"], name="oci_repository_once")]
        indexes = [
            models.Index(fields=["created_at"], name="oci_repositories_by_day"),
            models.Index(fields=["path"], name="oci_repositories_by_path", opclasses=["varchar_pattern_ops"]),
        ]
        verbose_name_plural = "repositories"

    def __str__(self) -> str:
        return str(self.address)

    @property
    def address(self) -> RepositoryAddress:
        """In lower case, as clients write it; `VisibleRepository.registered` has the module's own spelling."""
        return address_of(name_of(self.namespace.name, self.path))

    @property
    def is_module(self) -> bool:
        return isinstance(self.address, ModuleAddress)


class RepositoryBlob(models.Model):
    """The right to read a blob in a repository. A digest alone gives no access."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="blobs")
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="repository_blobs")
    created_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(default=timezone.now, help_text="When a publisher was last notified that it exists.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["repository", "blob"], name="oci_blob_once")]
        indexes = [models.Index(fields=["seen_at"], name="oci_blobs_by_sight")]

    def __str__(self) -> str:
        return f"{self.repository}@{self.blob}"


class Manifest(models.Model):
    """A pushed manifest, byte for byte. Addressed by sha256 and by sha512 it is two rows."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="manifests")
    digest = models.CharField(max_length=135, help_text="sha256:… or sha512:…, as clients address it.")
    media_type = models.CharField(max_length=255)
    artifact_type = models.CharField(
        max_length=255, blank=True, help_text="The artifact type of the manifest, or the media type of its config."
    )
    subject = models.CharField(max_length=135, blank=True, help_text="The digest of the manifest it is attached to.")
    annotations = models.JSONField(default=dict)
    size = models.PositiveIntegerField(help_text="Size in bytes.")
    raw = models.BinaryField()
    pushed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    pushed_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(default=timezone.now, help_text="When it was last pushed or last lost a tag.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["repository", "digest"], name="oci_manifest_once"),
            models.CheckConstraint(name="oci_manifest_digest", condition=Q(digest__regex=_DIGEST)),
        ]
        indexes = [
            models.Index(fields=["repository", "subject"], name="oci_manifests_by_subject"),
            models.Index(fields=["pushed_at"], name="oci_manifests_by_day"),
            # For the searches of operators.
            models.Index(fields=["digest"], name="oci_manifests_by_digest", opclasses=["varchar_pattern_ops"]),
            models.Index(fields=["subject"], name="oci_manifests_attached", opclasses=["varchar_pattern_ops"]),
            models.Index(fields=["artifact_type"], name="oci_manifests_by_type"),
            models.Index(fields=["repository"], condition=~Q(subject=""), name="oci_manifests_with_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.repository}@{self.digest}"


class ManifestBlob(models.Model):
    """A layer or config. With PROTECT the database itself refuses to delete a blob in use."""

    manifest = models.ForeignKey(Manifest, models.CASCADE, related_name="blob_edges")
    blob = models.ForeignKey(RepositoryBlob, models.PROTECT, related_name="manifest_edges")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["manifest", "blob"], name="oci_edge_once")]


class ManifestChild(models.Model):
    """A manifest that an index lists."""

    manifest = models.ForeignKey(Manifest, models.CASCADE, related_name="children")
    digest = models.CharField(max_length=135, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["manifest", "digest"], name="oci_child_once")]


class Tag(models.Model):
    """A movable name for a manifest. Tags of releases have no rows: the releases define them."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="tags")
    name = models.CharField(max_length=128)
    manifest = models.ForeignKey(Manifest, models.CASCADE, related_name="tags")
    moved_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    moved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["repository", "name"], name="oci_tag_once")]
        indexes = [
            models.Index(fields=["moved_at"], name="oci_tags_by_day"),
            models.Index(fields=["name"], name="oci_tags_by_name", opclasses=["varchar_pattern_ops"]),
        ]

    def __str__(self) -> str:
        return f"{self.repository}:{self.name}"


class ChunkedUpload(models.Model):
    """An upload that several requests fill, one after the other. `chunked` has its verbs."""

    # For how long a request that died keeps others out. It is renewed while bytes flow.
    LEASE: ClassVar[timedelta] = timedelta(seconds=60)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    size = models.BigIntegerField(default=0, help_text="Bytes received; the next chunk begins here.")
    lease = models.UUIDField(null=True, blank=True, help_text="The request that currently sends bytes.")
    lease_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(self.id)


class UploadSession(ChunkedUpload):
    """A blob upload in progress. Each request stages its bytes as one object."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="uploads")
    token = models.ForeignKey(ApiToken, models.SET_NULL, null=True, related_name="+")

    class Meta:
        indexes = [
            models.Index(fields=["expires_at"], name="oci_uploads_by_end"),
            models.Index(fields=["created_at"], name="oci_uploads_by_day"),
        ]


class UploadChunk(models.Model):
    """The bytes of one request, staged under `staging_key`."""

    session = models.ForeignKey(UploadSession, models.CASCADE, related_name="chunks")
    start = models.BigIntegerField()
    size = models.BigIntegerField()
    staging_key = models.CharField(max_length=100)
    sha256 = models.CharField(max_length=64)
    sha512 = models.CharField(max_length=128)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "start"], name="oci_chunk_once")]


class Collection(models.Model):
    """One run of the garbage collection."""

    begun_at = models.DateTimeField(default=timezone.now)
    seconds = models.FloatField(default=0.0)
    is_complete = models.BooleanField(
        "complete",
        default=True,
        help_text="Cleared if the run ran out of time or storage failed. The next run continues.",
    )
    uploads = models.PositiveIntegerField(default=0, help_text="Expired uploads that were removed.")
    tags = models.PositiveIntegerField(default=0)
    manifests = models.PositiveIntegerField(default=0)
    repository_blobs = models.PositiveIntegerField("blobs of repositories", default=0)
    blobs = models.PositiveIntegerField(
        default=0, help_text="Blobs in storage that no repository and no release needed."
    )
    bytes = models.BigIntegerField(default=0, help_text="Bytes of these blobs.")

    class Meta:
        indexes = [
            models.Index(fields=["begun_at"], name="oci_collections_by_day"),
            models.Index(fields=["begun_at"], condition=Q(is_complete=False), name="oci_collections_incomplete"),
        ]
        verbose_name = "garbage collection"

    def __str__(self) -> str:
        return f"{self.begun_at:%Y-%m-%d %H:%M:%S}"

    @property
    def figures(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in COLLECTED}

    @property
    def sentence(self) -> str:
        return (
            f"{self.uploads} uploads, {self.tags} tags, {self.manifests} manifests, "
            f"{self.repository_blobs} blobs of repositories, {self.blobs} blobs with {self.bytes} bytes in storage"
        )
