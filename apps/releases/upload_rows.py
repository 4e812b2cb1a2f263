"""Rows of uploads that may be continued. `publishing.resuming` has their verbs."""

from datetime import timedelta

from django.db import models
from django.db.models import Q

from apps.artifacts.models import ChunkedUpload


class Upload(ChunkedUpload):
    """The archive of a reserved release, or one file of a draft, on its way.

    It stays for a while after its last byte, so that the last request may be repeated.
    """

    LEASE = timedelta(seconds=15)  # a person waits for it when the line or the server came back

    release = models.ForeignKey("releases.Release", models.CASCADE, related_name="uploads")
    name = models.CharField(max_length=255, blank=True, help_text="The file of a draft; empty for an archive.")
    length = models.BigIntegerField(help_text="Total size in bytes.")
    expected = models.CharField(max_length=64, blank=True, help_text="Its sha256, announced or found.")
    metadata = models.CharField(max_length=2000, blank=True, help_text="Upload-Metadata, as it was sent.")
    ticket_digest = models.CharField(max_length=64, blank=True, db_index=True, help_text="sha256 of its ticket")
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["release", "name"], condition=Q(finished_at=None), name="releases_upload_once"
            )
        ]
        indexes = [models.Index(fields=["expires_at"], name="releases_uploads_by_end")]


class UploadPart(models.Model):
    """Bytes of an upload, staged as an object of their own, which any web process on any host can join."""

    upload = models.ForeignKey(Upload, models.CASCADE, related_name="parts")
    start = models.BigIntegerField()
    size = models.BigIntegerField()
    staging_key = models.CharField(max_length=80)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upload", "start"], name="releases_part_once")]
