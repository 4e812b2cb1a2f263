from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.artifacts.models import Manifest
from apps.releases.models import Release
from apps.signing.models import StatementKey


class Statement(models.Model):
    """Larder's statement about a release: an in-toto statement with SLSA provenance, in a DSSE envelope that it signed.

    Written once, by a worker, and never changed: a key that was retired since still verifies it.
    """

    release = models.OneToOneField(Release, models.CASCADE, related_name="statement")
    key = models.ForeignKey(StatementKey, models.PROTECT, related_name="statements")
    envelope = models.BinaryField(help_text="DSSE envelope as served to clients.")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the envelope.")
    size = models.PositiveIntegerField(help_text="Size in bytes.")
    manifest_digest = models.CharField(
        max_length=71, blank=True, db_index=True, help_text="sha256:… of its manifest in the OCI repository."
    )
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["made_at"], name="provenance_statements_by_day")]

    def __str__(self) -> str:
        return f"statement of {self.release}"


class Form(models.TextChoices):
    DSSE = "dsse", "DSSE envelope"
    BUNDLE = "bundle", "Sigstore bundle"


class Attestation(models.Model):
    """Another signer's statement about a release, as it was attached. Larder checks whose bytes it names, not who
    signed.

    The bytes are kept with the row: they are small (`attesting.MAX_BYTES`). One that `oras attach` brought is stored as
    a manifest as well, which `manifest_digest` names.
    """

    release = models.ForeignKey(Release, models.CASCADE, related_name="attestations")
    form = models.CharField(max_length=6, choices=Form.choices)
    media_type = models.CharField(max_length=120)
    predicate_type = models.CharField(max_length=200, blank=True)
    subjects = models.JSONField(help_text="SHA-256 digests of this release that it names, 64 hex digits each.")
    signed_by = models.CharField(
        max_length=300, blank=True, help_text="Signer that it names: a key id or an identity. Not verified."
    )
    content = models.BinaryField()
    digest = models.CharField(max_length=64, help_text="SHA-256 of the content.")
    size = models.PositiveIntegerField(help_text="Size in bytes.")
    manifest_digest = models.CharField(max_length=71, db_index=True, help_text="sha256:…")
    is_pushed = models.BooleanField(default=False, help_text="Attached over OCI, for example with oras attach.")
    # It goes with the manifest that brought it.
    manifest = models.ForeignKey(Manifest, models.CASCADE, null=True, blank=True, related_name="+")
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    token_id = models.BigIntegerField(null=True, blank=True)
    added_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["release", "digest"], name="provenance_attestation_once"),
            models.CheckConstraint(name="provenance_attestation_digest", condition=Q(digest__regex=r"^[0-9a-f]{64}$")),
        ]
        indexes = [
            models.Index(fields=["digest"], name="provenance_attested_digest", opclasses=["varchar_pattern_ops"]),
            models.Index(fields=["form"], name="provenance_by_form"),
            models.Index(fields=["is_pushed"], name="provenance_by_way"),
        ]

    def __str__(self) -> str:
        return f"attestation {self.digest[:12]} of {self.release}"


class Referrer(models.Model):
    """A manifest by which OCI clients find a statement or an attestation at a manifest of its release.

    `referrers` makes its bytes again for each request. One that was pushed has no such row: it is a manifest already.
    """

    release = models.ForeignKey(Release, models.CASCADE, related_name="+")
    statement = models.ForeignKey(Statement, models.CASCADE, null=True, related_name="referrers")
    attestation = models.ForeignKey(Attestation, models.CASCADE, null=True, related_name="referrers")
    subject = models.CharField(max_length=135, help_text="The digest of the release's manifest.")
    subject_type = models.CharField(max_length=255, help_text="Media type of the manifest.")
    subject_size = models.PositiveIntegerField(help_text="Size in bytes.")
    artifact_type = models.CharField(max_length=120)
    digest = models.CharField(max_length=71, db_index=True, help_text="sha256:…")
    size = models.PositiveIntegerField(help_text="Size in bytes.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["release", "digest"], name="provenance_referrer_once"),
            models.CheckConstraint(
                name="provenance_referrer_of_one",
                condition=Q(statement=None, attestation__isnull=False) | Q(statement__isnull=False, attestation=None),
            ),
        ]
        indexes = [models.Index(fields=["release", "subject"], name="provenance_by_subject")]

    def __str__(self) -> str:
        return f"{self.digest} at {self.subject}"
