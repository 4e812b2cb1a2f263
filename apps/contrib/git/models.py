"""Repositories that a namespace publishes from, their rules, and what became of each tag."""

from django.conf import settings
from django.db import models
from django.db.models import Case, Q, Value, When
from django.db.models.functions import Now

from apps.accounts.models import Connection
from apps.releases.models import State

MAX_REASON = 1000
MAX_CODE = 40
# The code of a tag that waits until policy lets it through; a listing after that date has it published.
COOLING_DOWN = "cooling_down"
# The code of one that policy does not let through, whatever the date.
POLICY = "policy"


class Forge(models.TextChoices):
    GITHUB = "github", "GitHub"
    GITLAB = "gitlab", "GitLab"
    GITEA = "gitea", "Gitea or Forgejo"
    BITBUCKET = "bitbucket", "Bitbucket"
    AZURE = "azure", "Azure DevOps"
    GIT = "git", "Another Git server"
    REGISTRY = "registry", "A module of another registry"


class CredentialKind(models.TextChoices):
    NONE = "none", "None: the repository is public"
    APP = "app", "Installation of a GitHub App"
    DEPLOY_KEY = "deploy_key", "Deploy key"
    TOKEN = "token", "Access token"


class Submodules(models.TextChoices):
    """The treatment of a tag with Git submodules in the folder of its module. `leave_out` is what `git archive`
    does.
    """

    REFUSE = "refuse", "Refuse the tag"
    FETCH = "fetch", "Fetch them"
    LEAVE_OUT = "leave_out", "Leave them out"


class RepositoryState(models.TextChoices):
    """A draft publishes nothing before the first sync. The last run of one that fails did not list its tags. One that
    is suspended does nothing until an owner confirms it.
    """

    DRAFT = "draft"
    ACTIVE = "active"
    FAILING = "failing"
    SUSPENDED = "suspended"
    DISCONNECTED = "disconnected"


class GitRepository(Connection):
    """A Git repository that a namespace publishes from. `connecting` has the verbs.

    Of the forge `registry` it is a module of another registry, whose versions are its tags (`registry_places`). Its
    URL is https://host/namespace/name/system.

    The row stays when it is disconnected, because releases name its `user`.
    """

    namespace = models.ForeignKey("accounts.Namespace", models.CASCADE, related_name="git_repositories")
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        related_name="git_repository",
        help_text="The machine account that publishes its releases.",
    )
    url = models.CharField(max_length=500, help_text="An https or ssh URL without credentials.")
    forge = models.CharField(max_length=9, choices=Forge.choices, default=Forge.GIT)
    credential = models.CharField(max_length=10, choices=CredentialKind.choices, default=CredentialKind.NONE)
    credential_facts = models.JSONField(
        default=dict, help_text="Facts that are not secret: user name, app ids, public key, expiry."
    )
    sealed_credential = models.TextField(blank=True, help_text="Encrypted, see accounts.identity.sealing.")
    host_keys = models.JSONField(default=list, help_text="Pinned ssh host keys, as in known_hosts.")
    host_scan = models.JSONField(null=True, help_text="Result of the last scan of the ssh host. null: not scanned yet.")
    host_scanned_at = models.DateTimeField(null=True, help_text="When the ssh host was last scanned.")
    hook_id = models.CharField(max_length=43, unique=True, help_text="Part of the URL of its webhook.")
    sealed_hook_secret = models.TextField(help_text="Encrypted, see accounts.identity.sealing.")
    hooked_at = models.DateTimeField(null=True, help_text="When the last valid webhook arrived.")
    poll_minutes = models.PositiveIntegerField(default=15)
    # Together the choice of `submodules`: two columns, because processes of an older version know only the first one.
    allow_submodules = models.BooleanField(default=False)
    leaves_out_submodules = models.BooleanField(default=False, db_default=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_by_token = models.ForeignKey("accounts.ApiToken", models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    started_at = models.DateTimeField(null=True, help_text="When publishing of tags started. Empty: a draft.")
    ended_at = models.DateTimeField(null=True)
    selected = models.JSONField(
        null=True, help_text="Tags of the first listing to publish. null: all that match a rule."
    )
    # What the last run found.
    fetched_at = models.DateTimeField(null=True, help_text="When its tags were last listed successfully.")
    next_at = models.DateTimeField(null=True, help_text="When it is polled next.")
    failed_at = models.DateTimeField(null=True, help_text="When the last run failed, if it did.")
    failing_since = models.DateTimeField(null=True, help_text="When the first of the consecutive failures happened.")
    failures = models.PositiveIntegerField(default=0, help_text="Number of consecutive failures.")
    failure_code = models.CharField(max_length=MAX_CODE, blank=True)
    failure = models.CharField(max_length=MAX_REASON, blank=True)
    log = models.TextField(blank=True, help_text="Log of the last run, one line for each step.")
    notified_until = models.DateTimeField(
        db_default=Now(), help_text="Owners have not been notified of tags that were refused since."
    )
    # For the preview: the newest commit's folders with modules, and what `previewing` made of them.
    preview = models.JSONField(default=dict)
    previewed_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "repositories"
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "url"], condition=Q(ended_at=None), name="sources_repository_once"
            ),
        ]
        indexes = [
            models.Index(fields=["next_at"], condition=Q(ended_at=None), name="sources_due"),
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def state(self) -> RepositoryState:
        if self.ended_at is not None:
            return RepositoryState.DISCONNECTED
        if self.suspended_at is not None:
            return RepositoryState.SUSPENDED
        if self.started_at is None:
            return RepositoryState.DRAFT
        return RepositoryState.ACTIVE if self.failed_at is None else RepositoryState.FAILING

    @property
    def submodules(self) -> Submodules:
        if self.allow_submodules:
            return Submodules.FETCH
        return Submodules.LEAVE_OUT if self.leaves_out_submodules else Submodules.REFUSE


class Rule(models.Model):
    """A rule by which tags are versions of a module. A tag may fit several rules: each publishes its module."""

    repository = models.ForeignKey(GitRepository, models.CASCADE, related_name="rules")
    position = models.PositiveIntegerField()
    tag = models.CharField(max_length=200, help_text="Such as v{version} or {name}-{version}.")
    folder = models.CharField(max_length=200, blank=True, help_text="Empty for the whole repository.")
    module = models.CharField(max_length=130, help_text="name/system. {name} is taken from the tag.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["repository", "position"], name="sources_rule_position_once")]

    def __str__(self) -> str:
        return f"{self.tag} → {self.module}"


class Verdict(models.TextChoices):
    """The outcome of a tag, as pages and the API say it."""

    WAITING = "waiting", "Waiting"
    PUBLISHED = "published", "Published"
    IGNORED = "ignored", "Ignored"
    REFUSED = "refused", "Refused"
    HELD = "held", "Held"
    MOVED = "moved", "Moved"
    GONE = "gone", "Deleted"


class Precedence(models.IntegerChoices):
    """The order in which waiting tags of a repository are fetched."""

    AWAITED = 0, "It was just pushed, or asked for"
    NEWEST = 1, "The newest version of its module in an import"
    IMPORTED = 2, "The rest of an import"


class TagQuerySet(models.QuerySet["Tag"]):
    def with_shown(self) -> "TagQuerySet":
        """Annotate `shown`, the verdict that readers see: once a release was made of a tag, its state decides.

        So no verdict can be wrong because a worker died before it wrote one.
        """
        own = models.F("verdict")
        columns = {
            "shown": Case(
                When(Q(verdict__in=[Verdict.MOVED, Verdict.GONE]) | Q(release=None), then=own),
                When(release__state__in=[State.PUBLISHED, State.PURGED], then=Value(Verdict.PUBLISHED)),
                When(release__state__in=[State.HELD, State.AWAITING_APPROVAL], then=Value(Verdict.HELD)),
                When(release__state__in=[State.REJECTED, State.FAILED], then=Value(Verdict.REFUSED)),
                default=Value(Verdict.WAITING),
                output_field=models.CharField(max_length=9),
            )
        }
        return self.annotate(**columns)  # not by its name, which Tag declares


class Tag(models.Model):
    """One tag as a version of one module; a tag that fits no rule has one row, without module.

    A release is made of it once. If the tag moves or is deleted afterwards, that is its verdict, and the release stays.
    """

    repository = models.ForeignKey(GitRepository, models.CASCADE, related_name="tags")
    name = models.CharField(
        max_length=300, help_text="Without refs/tags/. Bytes that are not UTF-8 are written as \\x…."
    )
    module = models.CharField(max_length=130, blank=True, help_text="name/system. Empty: no rule matches.")
    folder = models.CharField(max_length=200, blank=True)
    version = models.CharField(max_length=128, blank=True)
    sort_key = models.BinaryField(max_length=600, default=b"", help_text="Sort key of the version, as in releases.")
    commit = models.CharField(max_length=64)
    tag_object = models.CharField(max_length=64, blank=True, help_text="Tag object of an annotated tag.")
    # `published`: a release was made, whose state says more. The rest is as readers see it, except held.
    verdict = models.CharField(max_length=9, choices=Verdict.choices, default=Verdict.WAITING)
    code = models.CharField(max_length=MAX_CODE, blank=True, help_text="Code of the reason.")
    reason = models.CharField(max_length=MAX_REASON, blank=True)
    release = models.ForeignKey("releases.Release", models.SET_NULL, null=True, related_name="+")
    published_commit = models.CharField(max_length=64, blank=True, help_text="Commit that the release was made from.")
    tries = models.PositiveIntegerField(default=0, help_text="Number of failed fetches that will be retried.")
    precedence = models.PositiveSmallIntegerField(
        choices=Precedence.choices, default=Precedence.IMPORTED, db_default=Precedence.IMPORTED
    )
    seen_at = models.DateTimeField(help_text="When the tag was first seen.")
    known_since = models.DateTimeField(
        null=True, help_text="For a version of another registry: start of its age. null: old."
    )
    changed_at = models.DateTimeField(help_text="When its verdict or commit last changed.")

    objects = TagQuerySet.as_manager()
    shown: str  # by `with_shown`

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["repository", "name", "module"], name="sources_tag_once"),
        ]
        indexes = [
            models.Index(fields=["repository", "verdict"], name="sources_tags_by_verdict"),
            models.Index(fields=["name"], name="sources_tags_by_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.repository_id}"


class Request(models.Model):
    """A person who asked for a listing of a repository, or for another try of one tag: they take part in what comes of
    it.

    `until`: when the listing that it asked for succeeded. What waited by then, or was found, comes of it.
    """

    repository = models.ForeignKey(GitRepository, models.CASCADE, related_name="requests")
    tag = models.ForeignKey(Tag, models.CASCADE, null=True, related_name="requests", help_text="Empty for a listing.")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="git_requests")
    at = models.DateTimeField(auto_now_add=True)
    until = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"request {self.pk}"


class Push(models.Model):
    """The pusher of a tag, as a mark of an identity (`accounts.identity.marks`). `pushing` has the verbs."""

    MAX_TAG = 300

    repository = models.ForeignKey(GitRepository, models.CASCADE, related_name="pushes")
    tag = models.CharField(max_length=MAX_TAG, help_text="Without refs/tags/.")
    mark = models.CharField(max_length=64)
    at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name_plural = "pushes"
        constraints = [models.UniqueConstraint(fields=["repository", "tag", "mark"], name="sources_push_once")]

    def __str__(self) -> str:
        return f"push of {self.tag}"


class Delivery(models.Model):
    """A webhook that came. The same one again is a replay, and refused."""

    repository = models.ForeignKey(GitRepository, models.CASCADE, related_name="deliveries")
    digest = models.CharField(max_length=64, help_text="Digest of the vendor's delivery id and the body.")
    at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [models.UniqueConstraint(fields=["repository", "digest"], name="sources_delivery_once")]

    def __str__(self) -> str:
        return f"delivery {self.pk}"
