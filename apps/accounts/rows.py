"""Rows that models.py has no room for."""

from django.conf import settings
from django.db import models

TOKEN_INDEXES = [
    models.Index(fields=["created_at"], name="accounts_tokens_by_day"),
    models.Index(fields=["user", "-created_at"], name="accounts_tokens_of_user"),
    # For operators: searches, and machines that may manage.
    models.Index(fields=["start"], name="accounts_tokens_by_start", opclasses=["varchar_pattern_ops"]),
    models.Index(fields=["user"], condition=models.Q(scope="manage"), name="accounts_tokens_that_manage"),
    models.Index(fields=["scope"], name="accounts_tokens_by_scope"),
    models.Index(fields=["revoked_at"], condition=~models.Q(revoked_at=None), name="accounts_tokens_revoked"),
    models.Index(fields=["suspended_at"], condition=~models.Q(suspended_at=None), name="accounts_tokens_suspended"),
    models.Index(fields=["leaked_at"], condition=~models.Q(leaked_at=None), name="accounts_tokens_leaked"),
]


class LoginCode(models.Model):
    """A code of `tofu login`. `identity.cli_login` has the verbs."""

    digest = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    session = models.CharField(max_length=40, help_text="The digest of the session in which it was allowed.")
    redirect_uri = models.CharField(max_length=100)
    challenge = models.CharField(max_length=43)
    machine = models.CharField(max_length=40, help_text="What the person calls the computer.")
    browser = models.CharField(max_length=64, help_text="The digest of a cookie.")
    address = models.CharField(max_length=45, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True)
    token = models.ForeignKey("accounts.ApiToken", models.SET_NULL, null=True, related_name="+")

    def __str__(self) -> str:
        return f"login {self.pk}"


class PastIdentity(models.Model):
    """An identity of a provider, or a mail address, that an account had once: `people.same_person` asks for them.

    Otherwise a person could move their identity to a second account, and approve there what the first one published.
    """

    MAIL = "mail"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    provider = models.CharField(max_length=200, help_text="The issuer, or `mail`.")
    uid = models.CharField(max_length=191, help_text="The subject, or the address in lower case.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "uid", "user"], name="accounts_past_identity_once"),
        ]

    def __str__(self) -> str:
        return f"past identity {self.pk}"


class DeletedTeam(models.Model):
    """The name of a deleted team, which stays taken: audit rows and the names of its service accounts refer to it."""

    name = models.CharField(max_length=63, unique=True)
    deleted_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Connection(models.Model):
    """A connection that works in a namespace without a person: it publishes there, or is sent its events. It has
    `namespace`, `created_by` and `created_at` as well. `access.connections` says who answers for it, and has the verbs.
    """

    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        help_text="The owner who answers for it since then, in place of those before.",
    )
    confirmed_at = models.DateTimeField(null=True, editable=False)
    suspended_at = models.DateTimeField(null=True, editable=False, help_text="It does nothing until an owner confirms.")
    suspended_reason = models.CharField(max_length=200, blank=True, default="", db_default="", editable=False)

    class Meta:
        abstract = True


class ConnectionChange(models.Model):
    """A person who changed a connection since it was created or confirmed: they answer for it as well."""

    kind = models.CharField(max_length=20, help_text="As `access.connections` names it.")
    number = models.BigIntegerField(help_text="Of the connection.")
    # Null once the account is erased: then nobody is known to answer for the change.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "number", "user"], name="accounts_connection_changed_once"),
        ]

    def __str__(self) -> str:
        return f"change of {self.kind} {self.number}"


class TrustedPublisher(Connection):
    """A rule: whose CI runs may publish here. `identity.trusted` has the verbs.

    `fields` are what its owner named, by the names of the vendor's declaration; `pinned` are the immutable ids that its
    first exchange added to them. The row stays when the rule ends, because releases name its `user`.
    """

    namespace = models.ForeignKey("accounts.Namespace", models.CASCADE, related_name="trusted_publishers")
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        related_name="trusted_publisher",
        help_text="A machine that has this rule's role and publishes its releases.",
    )
    kind = models.CharField(max_length=10)
    issuer = models.CharField(max_length=200)
    only_name = models.CharField(max_length=130, blank=True, help_text="Publishes only this, such as vpc/aws.")
    fields = models.JSONField()
    digest = models.CharField(max_length=64, help_text="Of all that decides: no two rules are equal.")
    pinned = models.JSONField(default=dict)
    pinned_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by_token = models.ForeignKey("accounts.ApiToken", models.SET_NULL, null=True, related_name="+")
    expires_at = models.DateTimeField(null=True, help_text="Unless it is used before: its address did not exist.")
    last_used_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "digest"], condition=models.Q(ended_at=None), name="accounts_one_equal_rule"
            ),
        ]
        indexes = [
            models.Index(fields=["issuer"], name="accounts_rules_by_issuer"),
            models.Index(
                fields=["expires_at"], condition=models.Q(expires_at__isnull=False), name="accounts_rules_unused"
            ),
        ]

    def __str__(self) -> str:
        return f"trusted publisher {self.pk}"


class TokenExchange(models.Model):
    """An id token that came close to a rule: accepted, with the API token for it, or refused because of a claim.

    Only tokens with a valid signature have one, so that strangers cannot fill an owner's page.
    """

    publisher = models.ForeignKey(TrustedPublisher, models.CASCADE, related_name="exchanges")
    at = models.DateTimeField(auto_now_add=True)
    claims = models.JSONField()
    refused = models.CharField(max_length=60, blank=True, help_text="The claim; empty if it was accepted.")
    message = models.CharField(max_length=500, blank=True)
    token = models.OneToOneField("accounts.ApiToken", models.SET_NULL, null=True, related_name="exchange")
    actor = models.JSONField(
        default=list, db_default=[], help_text="Marks of who started the run: `identity.marks`, `trusted.actors`."
    )

    class Meta:
        indexes = [models.Index(fields=["publisher", "-at"], name="accounts_exchanges_of_rule")]

    def __str__(self) -> str:
        return f"exchange {self.pk}"


class Act(models.TextChoices):
    """The ways in which a person had a hand in what a machine publishes for."""

    STARTED = "started", "Started it"
    CHANGED = "changed", "Changed it"
    SCANNED = "scanned", "Scanned it"


class MachineAct(models.Model):
    """A person who had a hand in what a machine publishes for, beside its maker: they approve nothing that comes from
    it.

    `access.machines.acted` writes it, in the transaction of the act. Rows stay when the rule or the repository ends, so
    that what awaits approval by then keeps its ties.
    """

    machine = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="acts_on_it")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="acts_on_machines")
    act = models.CharField(max_length=8, choices=Act.choices)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["machine", "user", "act"], name="accounts_machine_act_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.act} {self.machine_id}"


class UsedIdToken(models.Model):
    """That an id token was exchanged, until it would be refused for its age anyway."""

    digest = models.CharField(max_length=64, unique=True, help_text="Of its issuer and its jti.")
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"id token {self.pk}"
