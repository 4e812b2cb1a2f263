from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.accounts.models import ApiToken, Namespace


class Custody(models.TextChoices):
    PUBLISHER = "publisher", "The publisher: Larder knows only the public key"
    REGISTRY = "registry", "The registry: workers sign with it"


class State(models.TextChoices):
    """`pending` waits for a worker to generate the key. Keys are never deleted: old versions must stay verifiable."""

    PENDING = "pending"
    ACTIVE = "active"
    RETIRED = "retired"  # signs nothing new; its signatures stay valid
    REVOKED = "revoked"  # its signatures are not trusted


class SigningKeyQuerySet(models.QuerySet["SigningKey"]):
    def newest_first(self) -> Self:
        return self.order_by("-added_at", "-pk")

    def usable(self, now: datetime) -> Self:
        """Return keys that may sign, or vouch for, a new release."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=now), state=State.ACTIVE)


class SigningKey(models.Model):
    """An OpenPGP key of a namespace (D11), identified by its fingerprint; the key id is only shown."""

    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="signing_keys")
    custody = models.CharField(max_length=9, choices=Custody.choices)
    state = models.CharField(max_length=7, choices=State.choices, default=State.ACTIVE)
    fingerprint = models.CharField(max_length=40, blank=True, help_text="40 upper-case hex digits; empty while pending")
    key_id = models.CharField(max_length=16, blank=True, help_text="The last 16 digits of the fingerprint.")
    armor = models.TextField(blank=True, help_text="One armor block with one public key.")
    algorithm = models.CharField(max_length=20, help_text="ed25519, rsa4096, nistp256, …")
    uid = models.CharField(max_length=300, blank=True)
    made_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    source = models.CharField(max_length=100, blank=True, help_text="Owner of the key. Clients may show it.")
    source_url = models.CharField(max_length=300, blank=True)
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    added_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    reason = models.CharField(max_length=500, blank=True, help_text="Why it was retired or revoked.")
    created_by_token = models.ForeignKey(ApiToken, models.SET_NULL, null=True, editable=False, related_name="+")

    objects = SigningKeyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "fingerprint"], condition=~Q(fingerprint=""), name="signing_key_once"
            ),
            models.CheckConstraint(
                name="signing_key_complete_or_pending",
                condition=Q(state="pending", fingerprint="", armor="")
                | Q(fingerprint__regex=r"^[0-9A-F]{40}$", key_id__regex=r"^[0-9A-F]{16}$") & ~Q(armor=""),
            ),
            models.CheckConstraint(
                name="signing_key_state_known", condition=Q(state__in=["pending", "active", "retired", "revoked"])
            ),
        ]

    def __str__(self) -> str:
        return self.key_id or f"key {self.pk} (being made)"

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()


class PrivateKey(models.Model):
    """The private half of a key in the registry's custody: AES-256-GCM, bound to the row by associated data (D12).

    The key is a line of the file, or is the row's and wrapped by a key service.
    """

    key = models.OneToOneField(SigningKey, models.PROTECT, related_name="private_key")
    nonce = models.BinaryField(max_length=12)
    ciphertext = models.BinaryField()
    kek_id = models.CharField(
        max_length=16,
        help_text="The key-encryption key, by the start of the SHA-256 of it or of its address.",
    )
    # Empty: the key-encryption key encrypts this row itself.
    wrapped_key = models.BinaryField(null=True, help_text="Key of this row, wrapped by the key service.")
    made_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"private half of {self.key}"


class StatementKey(models.Model):
    """An Ed25519 key of the registry, with which workers sign statements about releases. Old ones stay listed."""

    key_id = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the public key in DER, 64 hex digits.")
    public_key = models.TextField(help_text="PEM")
    made_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True, blank=True, help_text="When it stopped signing new statements.")

    class Meta:
        constraints = [
            models.UniqueConstraint(models.Value(1), condition=Q(retired_at=None), name="signing_one_statement_key"),
        ]
        permissions = [("rotate_statementkey", "Can rotate the statement key")]

    def __str__(self) -> str:
        return self.key_id[:16]

    @property
    def fingerprint(self) -> str:
        """The key's id, under the name that the vault uses for the identity of every key."""
        return self.key_id

    @property
    def state(self) -> State:
        return State.RETIRED if self.retired_at else State.ACTIVE


class PrivateStatementKey(models.Model):
    """The private half, sealed as that of a `SigningKey` is."""

    key = models.OneToOneField(StatementKey, models.PROTECT, related_name="private_key")
    nonce = models.BinaryField(max_length=12)
    ciphertext = models.BinaryField()
    kek_id = models.CharField(max_length=16, help_text="Same meaning as on a private key.")
    wrapped_key = models.BinaryField(null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"private half of {self.key}"


class SignatureRequest(models.Model):
    """A release whose sums a worker wants signed. It waits for the answer, and deletes the row.

    The release's number, because `releases` is a sibling. A former Larder wrote `data` to sign, which nothing reads.
    """

    release_id = models.BigIntegerField(null=True)
    key = models.ForeignKey(SigningKey, models.CASCADE, related_name="+")
    data = models.BinaryField(null=True)
    signature = models.BinaryField(null=True)
    problem = models.CharField(max_length=40, blank=True, help_text="The code of the error, if it ended with one.")
    made_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"release {self.release_id} by {self.key}"


class SharedKey(models.TextChoices):
    SECRET = "secret-key", "Secret key: signs sessions and download links"
    KEK = "key-encryption-key", "Key-encryption key: seals private signing keys"


class KeyFingerprint(models.Model):
    """The fingerprint of a key that all hosts share, so that a host with another key notices."""

    key = models.CharField(max_length=20, choices=SharedKey.choices, unique=True)
    fingerprint = models.CharField(max_length=64)
    host = models.CharField(max_length=120, help_text="The host that recorded it.")
    recorded_at = models.DateTimeField(default=timezone.now)
    # Of the key-encryption key, as signing workers report it, for /status.
    place = models.CharField(max_length=20, db_default="", blank=True, help_text="file, AWS KMS or Vault")
    answered_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.key
