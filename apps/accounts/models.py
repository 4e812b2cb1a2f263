from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Self

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

PSEUDONYM = "forgotten-"
EXPIRES_SOON = timedelta(days=7)
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


class User(AbstractUser):
    """A person. Others see `username`, but only the sign-in looks it up.

    Or a service account: a machine of a team, with tokens and without a sign-in. Its name ends in [bot], as no
    person's can, so that it is known for a machine wherever it is shown; see `people.service_accounts`.
    """

    is_service = models.BooleanField(default=False, db_default=False, editable=False)
    service_of = models.ForeignKey(
        "Team", models.SET_NULL, null=True, blank=True, editable=False, related_name="service_accounts"
    )
    # Of a service account: its team's manager allows tokens of scope manage.
    may_manage = models.BooleanField(default=False, db_default=False, editable=False)
    created_by_token = models.ForeignKey("ApiToken", models.SET_NULL, null=True, editable=False, related_name="+")

    @property
    def pseudonym(self) -> str:
        """The user name after erasure; no one can choose a name with this prefix."""
        return f"{PSEUDONYM}{self.pk}"

    @property
    def is_erased(self) -> bool:
        return self.username == self.pseudonym

    @property
    def shown_name(self) -> str:
        return "a former user" if self.is_erased else self.username


class Role(models.IntegerChoices):
    """A role in a namespace; a higher one covers the lower."""

    READER = 1
    PUBLISHER = 2
    OWNER = 3

    def covers(self, other: "Role") -> bool:
        return self >= other


class Visibility(models.TextChoices):
    PUBLIC = "public", "Public: anyone, signed in or not"
    INTERNAL = "internal", "Internal: everyone who is signed in"
    PRIVATE = "private", "Private: its members"


class BreakingChanges(models.TextChoices):
    """The treatment of a version that breaks something although its number does not say so: docs/version-guard.md."""

    SILENT = "silent", "Silent: show no warning"
    WARN = "warn", "Warn: show a warning on the release's page"
    ASK = "ask", "Ask: hold the release until its publisher gives a reason"
    REFUSE = "refuse", "Refuse: allow them only in major versions"


class NamespaceQuerySet(models.QuerySet["Namespace"]):
    def alphabetical(self) -> Self:
        return self.order_by("canonical")

    def without_active_owner(self) -> Self:
        """Return namespaces whose owners have all left, so that only staff can decide."""
        return self.exclude(Exists(Grant.objects.active_owners().filter(namespace=OuterRef("pk"))))


class PresentNamespaces(models.Manager["Namespace"]):
    """Leaves out deleted namespaces, whose rows only keep the name taken."""

    def get_queryset(self) -> NamespaceQuerySet:
        return NamespaceQuerySet(self.model, using=self._db).filter(deleted_at=None)


class Namespace(models.Model):
    name = models.CharField(max_length=64, unique=True)
    canonical = models.CharField(
        max_length=64, unique=True, editable=False, help_text="The name in lower case, with - for _ (D10)."
    )
    # Empty in rows that an older Larder has created beside this one.
    skeleton = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    description = models.CharField(max_length=200, blank=True)
    introduction = models.CharField(
        max_length=1000, blank=True, default="", db_default="", help_text="“Start here” on its page. Markdown."
    )
    visibility = models.CharField(max_length=8, choices=Visibility.choices, default=Visibility.PRIVATE)
    breaking_changes = models.CharField(
        max_length=6,
        choices=BreakingChanges.choices,
        default=BreakingChanges.WARN,
        db_default=BreakingChanges.WARN,
        help_text="For breaking changes outside a major version.",
    )
    trusted_publishers_only = models.BooleanField(
        default=False, db_default=False, help_text="Only CI publishes, by its trusted publishers."
    )
    requires_approval = models.BooleanField(
        default=False, db_default=False, help_text="Someone other than its author approves each release."
    )
    approval_needs_second_factor = models.BooleanField(
        default=False, db_default=False, help_text="Who approves enters a second factor again."
    )
    approval_needs_two_people = models.BooleanField(default=False, db_default=False, help_text="Those from Git or CI.")
    cooldown_hours = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Clients see a release so many hours after its publication; 0: at once."
    )
    quota_bytes = models.BigIntegerField(null=True, blank=True, help_text="Empty: the registry's default.")
    quota_versions = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: the registry's default.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    former_owners = models.JSONField(
        null=True, blank=True, editable=False, help_text="The numbers of users and teams, once it is deleted."
    )

    objects = PresentNamespaces.from_queryset(NamespaceQuerySet)()
    including_deleted = NamespaceQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="accounts_visibility_known", condition=Q(visibility__in=["public", "internal", "private"])
            ),
        ]
        indexes = [
            models.Index(fields=["created_at"], name="accounts_namespaces_by_day"),
            models.Index(fields=["skeleton"], name="accounts_namespaces_by_look"),
        ]
        permissions = [("operate_namespace", "Can act as owner in every namespace")]

    def __str__(self) -> str:
        return self.name


class TeamQuerySet(models.QuerySet["Team"]):
    def alphabetical(self) -> Self:
        return self.order_by("name")

    def without_active_manager(self) -> Self:
        """Return teams that only staff can change."""
        active = Membership.objects.filter(team=OuterRef("pk"), is_manager=True, user__is_active=True)
        return self.exclude(Exists(active))


class Team(models.Model):
    """People who have roles together. Managers choose its members; owners of namespaces grant it roles."""

    name = models.CharField(max_length=63, unique=True)
    description = models.CharField(max_length=200, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="accounts_teams_by_day")]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    team = models.ForeignKey(Team, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    is_manager = models.BooleanField(default=False)
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    added_at = models.DateTimeField(auto_now_add=True)
    created_by_token = models.ForeignKey("ApiToken", models.SET_NULL, null=True, editable=False, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="accounts_one_membership_each")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}"


class GrantQuerySet(models.QuerySet["Grant"]):
    def active_owners(self, *, besides: User | None = None) -> Self:
        """Return grants of ownership to an active person, or to a team with one, not counting the person `besides`."""
        people = User.objects.filter(is_active=True, is_service=False)
        if besides is not None:
            people = people.exclude(pk=besides.pk)
        member = Membership.objects.filter(team=OuterRef("team"), user__in=people)
        return self.filter(Q(user__in=people) | Exists(member), role=Role.OWNER)


class Grant(models.Model):
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="grants")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="grants")
    team = models.ForeignKey(Team, models.CASCADE, null=True, blank=True, related_name="grants")
    role = models.PositiveSmallIntegerField(choices=Role.choices)
    given_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    given_at = models.DateTimeField(auto_now_add=True)
    created_by_token = models.ForeignKey("ApiToken", models.SET_NULL, null=True, editable=False, related_name="+")

    objects = GrantQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["namespace", "user"], name="accounts_one_grant_each"),
            models.UniqueConstraint(fields=["namespace", "team"], name="accounts_one_grant_a_team"),
            models.CheckConstraint(name="accounts_role_known", condition=Q(role__in=[1, 2, 3])),
            models.CheckConstraint(
                name="accounts_grant_has_one_holder",
                condition=Q(user=None, team__isnull=False) | Q(user__isnull=False, team=None),
            ),
        ]
        indexes = [models.Index(fields=["given_at"], name="accounts_grants_by_day")]

    def __str__(self) -> str:
        return f"{self.grantee} is {self.get_role_display()} of {self.namespace}"

    @property
    def grantee(self) -> User | Team:
        grantee = self.user or self.team
        assert grantee is not None  # noqa: S101  # a constraint says so
        return grantee


class Scope(models.TextChoices):
    """The upper limit of a token, beside the person's own role. Each scope includes the ones before it."""

    READ = "read", "read: find and download"
    PUBLISH = "publish", "publish: read, and publish releases"
    MANAGE = "manage", "manage: publish, and change namespaces"

    @property
    def role(self) -> Role:
        return {Scope.READ: Role.READER, Scope.PUBLISH: Role.PUBLISHER, Scope.MANAGE: Role.OWNER}[self]

    @classmethod
    def widest(cls, scopes: Iterable[str]) -> "Scope":
        return max((cls(scope) for scope in scopes), key=lambda scope: scope.role)


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def usable(self, now: datetime) -> Self:
        return self.filter(revoked_at=None, suspended_at=None, expires_at__gt=now, user__is_active=True)

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-pk")


class ApiToken(models.Model):
    """A bearer token (D13), stored as SHA-256: the secret has 210 random bits, so a slow hash would add nothing."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    label = models.CharField(max_length=80, help_text="Its purpose.")
    start = models.CharField(max_length=16, help_text="Its first characters, to recognise it.")
    digest = models.CharField(max_length=64, unique=True)
    scope = models.CharField(max_length=8, choices=Scope.choices)
    # Separate from the list, which may become empty when namespaces go: that must not mean "all".
    is_limited = models.BooleanField(
        default=False, help_text="Limited to the listed namespaces; otherwise to all of the person's."
    )
    namespaces = models.ManyToManyField(Namespace, blank=True)
    only_name = models.CharField(max_length=130, blank=True, help_text="Publish only this, such as vpc/aws.")
    # False for service accounts (D25). Their tokens from before that rule keep their rights: hence `db_default`.
    manages_people = models.BooleanField(default=True, db_default=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by_token = models.ForeignKey("self", models.SET_NULL, null=True, editable=False, related_name="+")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, editable=False, related_name="+")
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    suspended_at = models.DateTimeField(
        null=True, blank=True, help_text="Since an older database was restored. Refused until an operator decides."
    )
    last_used_at = models.DateTimeField(null=True, blank=True)
    last_used_by = models.CharField(max_length=60, blank=True, default="", db_default="", help_text="The client.")
    last_used_from = models.CharField(max_length=45, blank=True, default="", db_default="", help_text="Its address.")
    leaked_at = models.DateTimeField(null=True, blank=True, help_text="Since someone reported where they found it.")
    leaked_url = models.CharField(max_length=300, blank=True, default="", db_default="", help_text="Where.")
    machine = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="For `tofu login`: a digest of where.",
    )

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="accounts_scope_known", condition=Q(scope__in=["read", "publish", "manage"])),
        ]
        indexes = TOKEN_INDEXES
        permissions = [("revoke_apitoken", "Can revoke an API token")]

    def __str__(self) -> str:
        return f"{self.start}… ({self.label})"

    @property
    def is_usable(self) -> bool:
        return self.revoked_at is None and self.suspended_at is None and self.expires_at > timezone.now()

    @property
    def expires_soon(self) -> bool:
        soon = min(EXPIRES_SOON, (self.expires_at - self.created_at) / 3)
        return self.expires_at - soon < timezone.now()


class Epoch(models.Model):
    """The number of times that access was taken away, in one row; see `access.epoch`."""

    number = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return str(self.number)


class Invitation(models.Model):
    """A one-time link to create an account; there is no open sign-up."""

    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the secret in the link.")
    note = models.CharField(max_length=120, blank=True, help_text="The person it is for.")
    namespace = models.ForeignKey(Namespace, models.CASCADE, null=True, blank=True)
    role = models.PositiveSmallIntegerField(choices=Role.choices, null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    revoked_at = models.DateTimeField(null=True, blank=True)
    created_by_token = models.ForeignKey(ApiToken, models.SET_NULL, null=True, editable=False, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="accounts_invitation_role_with_namespace",
                condition=Q(namespace=None, role=None) | Q(namespace__isnull=False, role__isnull=False),
            ),
        ]
        indexes = [models.Index(fields=["created_at"], name="accounts_invites_by_day")]

    def __str__(self) -> str:
        return self.note or f"invitation {self.pk}"


class StaffRole(models.TextChoices):
    """The roles of `access.staff_roles`, for groups of identity providers."""

    OPERATOR = "Operator"
    AUDITOR = "Auditor"


class GroupMapping(models.Model):
    """The team or staff role that members of an identity provider's group get when they sign in."""

    issuer = models.CharField(max_length=200)
    group = models.CharField(max_length=200, help_text="As the provider's groups claim names it, in the same letters.")
    team = models.ForeignKey(Team, models.CASCADE, null=True, blank=True, related_name="+")
    staff_role = models.CharField(max_length=20, choices=StaffRole.choices, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "group", "team"], name="accounts_one_mapping_a_team"),
            models.UniqueConstraint(
                fields=["issuer", "group"], condition=Q(team=None), name="accounts_one_staff_mapping_a_group"
            ),
            models.CheckConstraint(
                name="accounts_mapping_gives_one_thing",
                condition=Q(team=None, staff_role__in=["Operator", "Auditor"]) | Q(team__isnull=False, staff_role=""),
            ),
        ]
        indexes = [models.Index(fields=["created_at"], name="accounts_mappings_by_day")]

    def __str__(self) -> str:
        return f"{self.group} → {self.team or self.staff_role}"


class GroupAssignment(models.Model):
    """A role that a person has because of a mapping, and not by hand: it ends at a sign-in without the group."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="group_assignments")
    issuer = models.CharField(max_length=200)
    team = models.ForeignKey(Team, models.CASCADE, null=True, related_name="+")
    staff_role = models.CharField(max_length=20, choices=StaffRole.choices, blank=True)
    made_staff = models.BooleanField(default=False, help_text="The person was not staff before.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "issuer", "team"], name="accounts_one_assignment_a_team"),
            models.UniqueConstraint(
                fields=["user", "issuer"], condition=Q(team=None), name="accounts_one_staff_assignment"
            ),
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
    """A rule: whose CI runs may publish here. The room of trusted publishers has the verbs.

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
