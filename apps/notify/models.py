from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.accounts.models import ApiToken, Connection, Namespace
from apps.jobs.models import Leased
from apps.lib.net.addresses import MAX_URL_CHARACTERS


class OutboxEvent(models.Model):
    """An event of the audit that a person or webhook may receive, written in its transaction; see outbox.py."""

    event_id = models.BigIntegerField(unique=True)
    at = models.DateTimeField(auto_now_add=True, db_index=True)

    def __str__(self) -> str:
        return f"event {self.event_id}"


class Shape(models.TextChoices):
    """The JSON that a receiver expects."""

    STANDARD = "standard", "Standard Webhooks: signed JSON for your own program"
    SLACK = "slack", "Slack: a message in a channel"
    TEAMS = "teams", "Microsoft Teams: a card in a channel"


class Webhook(Connection):
    """An address that is told of events of a namespace, or of all of them."""

    namespace = models.ForeignKey(
        Namespace, models.CASCADE, null=True, blank=True, related_name="webhooks", help_text="Empty: all of them."
    )
    url = models.CharField(max_length=MAX_URL_CHARACTERS)
    events = models.JSONField(default=list, help_text="Names such as release.published.")
    shape = models.CharField(max_length=8, choices=Shape.choices, default=Shape.STANDARD)
    sealed_secret = models.TextField(help_text="Encrypted, see accounts.identity.sealing.")
    former_secret = models.TextField(blank=True, help_text="Encrypted. Signs as well until former_until.")
    former_until = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    failing_since = models.DateTimeField(null=True, blank=True, help_text="The first failure since the last success.")
    disabled_at = models.DateTimeField(null=True, blank=True)
    disabled_reason = models.CharField(max_length=300, blank=True)
    created_by_token = models.ForeignKey(ApiToken, models.SET_NULL, null=True, editable=False, related_name="+")

    def __str__(self) -> str:
        return f"webhook {self.pk}"

    @property
    def host(self) -> str:
        """The part of the URL that is no secret: those of Slack and Teams let everyone post."""
        return self.url.split("/")[2].rpartition("@")[2]


class State(models.TextChoices):
    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def due(self, now: datetime) -> Self:
        return self.filter(state=State.WAITING, next_at__lte=now, webhook__disabled_at=None, webhook__suspended_at=None)

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-pk")


class Delivery(Leased):
    """One event for one webhook, with its last attempt. `message_id` stays the same: receivers know it again."""

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    message_id = models.CharField(max_length=40, unique=True)
    event_id = models.BigIntegerField(null=True, help_text="Of the audit; empty for a test.")
    event = models.CharField(max_length=40)
    subject = models.CharField(max_length=300)
    body = models.TextField(help_text="The JSON as it is signed and sent.")
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    next_at = models.DateTimeField(help_text="During an attempt: when another worker may take it.")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    tried_at = models.DateTimeField(null=True, blank=True)
    status = models.PositiveSmallIntegerField(null=True, blank=True, help_text="Of the last answer.")
    answer = models.TextField(blank=True, help_text="The beginning of the last answer.")
    error = models.CharField(max_length=300, blank=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["webhook", "event_id"], name="notify_one_delivery_each"),
        ]
        indexes = [
            models.Index(fields=["next_at"], name="notify_deliveries_due", condition=Q(state="waiting")),
            models.Index(fields=["webhook", "-created_at"], name="notify_log"),
            models.Index(fields=["ended_at"], name="notify_deliveries_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.event} for {self.webhook_id}"


class Topic(models.TextChoices):
    """The topics that people receive by mail, and can switch off."""

    PUBLISHED = "published", "New releases of items you watch"
    WITHDRAWN = "withdrawn", "Versions you watch or use that are deprecated, yanked, quarantined, purged or restored"
    TAKEN = "taken", "Versions of your namespaces that operators quarantined, restored or purged"
    KEYS = "keys", "Signing keys of your namespaces that were retired or revoked"
    REFUSED = "refused", "Your releases that were rejected or need your answer"
    ROLES = "roles", "Roles that you get or lose"
    EXPIRING = "expiring", "Expiring tokens of yours and signing keys of your namespaces"
    MESSAGES = "messages", "Messages from owners of what you use"
    REQUESTS = "requests", "Requests for publish access to your namespaces"
    APPROVALS = (
        "approvals",
        "Releases that await your approval, approvals of yours, and whether your namespaces require it",
    )
    HANDOVER = "handover", "Connections of former owners of your namespaces"
    WEBHOOKS = "webhooks", "Webhooks of your namespaces that were switched off"
    GIT = "git", "Alarms of Git repositories of your namespaces"
    CHECKS = "checks", "Findings in versions of your namespaces, and your releases that wait for checks"
    UPSTREAMS = "upstreams", "Alarms and changed policies of mirrored registries, if you may decide them"


class Preference(models.Model):
    """A person's choice; without a row they get everything, each at once."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="mail_preference")
    topics_off = models.JSONField(default=list)
    is_digest = models.BooleanField(default=False, help_text="One mail a day.")
    unconfirmed_address = models.EmailField(
        blank=True,
        default="",
        db_default="",
        help_text="Where the person wants mail, until they open the link that was sent there.",
    )

    def __str__(self) -> str:
        return f"mail for {self.user_id}"


class Watch(models.Model):
    """A person wants to hear of a namespace, or of one module or provider in it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="watches")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="watches")
    name = models.CharField(max_length=130, blank=True, help_text="vpc/aws or dns; empty for all of them.")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "namespace", "name"], name="notify_one_watch_each")]
        indexes = [models.Index(fields=["namespace", "name"], name="notify_watchers")]

    def __str__(self) -> str:
        return f"{self.namespace.name}/{self.name}".rstrip("/")


class LetterState(models.TextChoices):
    WAITING = "waiting"
    SENT = "sent"
    DROPPED = "dropped"  # the person may no longer see it, or wants none
    FAILED = "failed"
    MISSED = "missed"  # the person had no address


class Letter(Leased):
    """A mail on its way to a person, or to an address without an account."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="letters")
    address = models.EmailField(blank=True, help_text="If it is not the account's.")
    topic = models.CharField(max_length=10, blank=True, help_text="Empty if it cannot be switched off.")
    key = models.CharField(max_length=80, help_text="The reason, once for each person.")
    namespace = models.ForeignKey(Namespace, models.CASCADE, null=True, help_text="They must see it when it is sent.")
    subject = models.CharField(max_length=200)
    text = models.TextField()
    sealed_url = models.TextField(help_text="Encrypted: links of invitations are secrets.")
    button = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        help_text="The act to which the link leads; empty if there is none.",
    )
    state = models.CharField(max_length=7, choices=LetterState.choices, default=LetterState.WAITING)
    next_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="notify_one_letter_each")]
        indexes = [
            models.Index(fields=["next_at"], name="notify_letters_due", condition=Q(state="waiting")),
            models.Index(fields=["ended_at"], name="notify_letters_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.topic} for {self.user_id}"
