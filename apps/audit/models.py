from datetime import datetime
from typing import Any, NoReturn

from django.db import models

from apps.audit import kinds


class AuditEventQuerySet(models.QuerySet["AuditEvent"]):
    def newest_first(self) -> "AuditEventQuerySet":
        return self.order_by("-at", "-pk")

    def update(self, **_: Any) -> NoReturn:
        raise TypeError("Audit rows are append-only: record a new event instead of changing one.")

    def delete(self) -> NoReturn:
        raise TypeError("Audit rows are append-only and cannot be deleted.")

    def prune(self, numbers: list[int], *, before: datetime) -> int:
        """Delete these rows if they are older than `before`, and return how many. Nothing else deletes."""
        return models.QuerySet.delete(self.filter(pk__in=numbers, at__lt=before))[0]


class AuditEvent(models.Model):
    """One thing that happened, and who did it (D14). Rows outlive what they describe: ids and text, no foreign keys.

    `actor_id` is an account number and never a name, so that a person can be erased; None is Larder itself.
    """

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    kind = models.CharField(max_length=64, choices=kinds.choices)
    actor_id = models.BigIntegerField(null=True)
    token_id = models.BigIntegerField(null=True)
    address = models.CharField(
        max_length=45, blank=True, db_default="", help_text="IP address of the client. Empty for Larder itself."
    )
    namespace = models.CharField(
        max_length=64, blank=True, db_default="", help_text="Canonical name of the namespace that it is about, if any."
    )
    subject = models.CharField(max_length=300, db_index=True, help_text="The address of the changed object.")
    detail = models.JSONField(default=dict)
    request_id = models.CharField(max_length=64, blank=True)

    objects = AuditEventQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["namespace", "-at", "-id"], name="audit_of_namespace", condition=~models.Q(namespace="")
            ),
            models.Index(fields=["kind", "at"], name="audit_by_kind"),
            models.Index(fields=["actor_id", "at", "id"], name="audit_by_actor"),
            models.Index(fields=["request_id"], name="audit_by_request"),
            models.Index(fields=["address"], name="audit_by_address"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class Link(models.Model):
    """A link of the chain over the events, in the order of its numbers; see chain.py. A row is never changed."""

    event_id = models.BigIntegerField(unique=True)
    at = models.DateTimeField(help_text="When the event happened.")
    previous = models.CharField(max_length=64, unique=True, help_text="Digest of the previous link.")
    digest = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"{self.event_id}: {self.digest}"


class Generation(models.Model):
    """The number of the last change that touched a scope; see generation.py."""

    scope = models.CharField(max_length=64, primary_key=True)
    number = models.BigIntegerField(db_index=True)

    def __str__(self) -> str:
        return f"{self.scope or 'anything'}: {self.number}"
