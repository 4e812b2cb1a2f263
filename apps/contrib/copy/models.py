import json
import zlib
from typing import Any

from django.db import models
from django.db.models import Q

from apps.contrib.copy.bundle.models import Bundle
from apps.contrib.copy.tree import layout


def packed(document: Any) -> bytes:
    """JSON in a column: what an address has is a long list of digests."""
    return zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 1) if document else b""


def unpacked(column: bytes | memoryview) -> Any:
    """Return the document; an empty one for an empty column."""
    return json.loads(zlib.decompress(column)) if column else {}


class Copy(models.Model):
    """A copy that was written, by its URL: who writes it, how far it is, and why it is behind."""

    url = models.CharField(max_length=500, unique=True)
    made_as = models.CharField(max_length=64, blank=True, help_text="Of what made its documents: version and settings.")
    followed_at = models.DateTimeField(null=True, blank=True, help_text="When changes were last looked for.")
    fence = models.BigIntegerField(default=0, help_text="Grows with each writer: one with an older number stops.")
    lease_until = models.DateTimeField(null=True, blank=True)
    whole_at = models.DateTimeField(null=True, blank=True, help_text="When everything was written for the first time.")
    current_at = models.DateTimeField(null=True, blank=True, help_text="When it was last as it should be.")
    generation = models.BigIntegerField(default=0, help_text="All changes up to this one are in it.")
    failure = models.CharField(max_length=500, blank=True, help_text="Why the last write failed.")
    failing_since = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.url.partition("?")[0]


class Root(models.Model):
    """The newest root manifest of a copy. A signing worker makes the envelope, the writer puts it into the tree."""

    copy = models.OneToOneField(Copy, models.CASCADE, related_name="root")
    sequence = models.BigIntegerField(default=0)
    payload = models.BinaryField(default=bytes)
    envelope = models.BinaryField(default=bytes, help_text="DSSE, over this payload; empty until it is signed.")
    put_at = models.DateTimeField(null=True, blank=True, help_text="When manifest.dsse was written.")

    def __str__(self) -> str:
        return f"{self.copy}, {self.sequence}"


class Written(models.Model):
    """One address as it is in a copy.

    `files` are those that it should have. While they are being written, or if that was cut off, `was` has all that may
    be there from before.
    """

    copy = models.ForeignKey(Copy, models.CASCADE, related_name="addresses")
    address = models.CharField(max_length=300, help_text="modules/acme/vpc/aws")
    namespace = models.CharField(max_length=64, blank=True, help_text="Its canonical name; empty for other registries.")
    shard = models.CharField(max_length=2)
    is_public = models.BooleanField(default=False)
    files = models.BinaryField(default=bytes, help_text="Place: SHA-256 and size of each, packed.")
    was = models.BinaryField(default=bytes, help_text="Path: SHA-256, or nothing where it is not certain; packed.")
    digest = models.CharField(max_length=64, blank=True, help_text="SHA-256 of its list in the manifest.")
    is_sealed = models.BooleanField(default=False, help_text="The root manifest has this state.")
    due_at = models.DateTimeField(null=True, blank=True, help_text="When it changes without an event.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["copy", "address"], name="copy_address_once")]
        indexes = [
            models.Index(fields=["copy", "shard"], name="copy_written_by_shard"),
            models.Index(fields=["copy", "namespace"], name="copy_written_by_namespace"),
            models.Index(fields=["copy", "due_at"], name="copy_written_due", condition=Q(due_at__isnull=False)),
            models.Index(fields=["copy"], name="copy_written_unsealed", condition=Q(is_sealed=False)),
            models.Index(fields=["copy"], name="copy_written_unsettled", condition=~Q(was=b"")),
        ]

    def __str__(self) -> str:
        return self.address

    @property
    def paths(self) -> dict[str, str]:
        """The SHA-256 of each file that it should have, by path."""
        files: dict[str, Any] = unpacked(self.files)
        return {layout.path_of(place, is_public=self.is_public): one[0] for place, one in files.items()}


class Due(models.Model):
    """A change that is not in the copy yet, written in the transaction that makes it."""

    scope = models.CharField(max_length=400, help_text="See writing/following.py.")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    def __str__(self) -> str:
        return self.scope


class CountedLog(models.Model):
    """A log of a web server whose downloads are counted, up to a position."""

    first_line = models.CharField(max_length=64, unique=True, help_text="SHA-256; it has the id of a request.")
    position = models.BigIntegerField(default=0, help_text="In bytes, without compression.")
    counted_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.first_line[:12]}, {self.position}"


# What the role of signing workers may do with which table (`room.signing_tables`).
SIGNED = {
    Root: {"SELECT": (), "UPDATE": ("envelope",)},
    Due: {"INSERT": (), "SELECT": ("id",)},
    Bundle: {"SELECT": (), "UPDATE": ("envelope", "key_id")},
}
