from django.conf import settings
from django.db import models


class Bundle(models.Model):
    """A bundle that was made here, so that the next one leaves out what it has, or one that was imported, so that an
    older one is refused.
    """

    root = models.CharField(max_length=71, help_text="sha256:… of its root.")
    is_own = models.BooleanField(help_text="Made here, not imported.")
    registry = models.CharField(max_length=200, help_text="The public URL of the registry that made it.")
    made_at = models.DateTimeField()
    payload = models.BinaryField(help_text="What is signed.")
    envelope = models.BinaryField(null=True, help_text="DSSE; empty until a worker has signed.")
    key_id = models.CharField(max_length=64, blank=True)
    catalogue = models.BinaryField(help_text="Compressed with zlib.")
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["root", "is_own"], name="copy_bundle_once")]
        indexes = [models.Index(fields=["registry", "-made_at"], name="copy_bundles_newest")]

    def __str__(self) -> str:
        return self.root
