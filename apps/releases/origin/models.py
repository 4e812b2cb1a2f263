"""Rows about where a release comes from, and who else has to approve it.

`recording` and `publishing.approving` have their verbs.
"""

from typing import Any

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.db import models

# In the summary of what awaits approval.
CHANGES_NAMED = 3
# Facts of an origin that name a person.
PEOPLE = frozenset({"actor", "tagger"})


class Way(models.TextChoices):
    """The channel by which the bytes came in."""

    PAGE = "page", "Browser"
    API = "api", "API"
    OCI = "oci", "OCI push"
    COMMAND = "command", "Larder itself"
    GIT = "git", "Git"


class Origin(models.Model):
    """The facts that were known when the version number was reserved. Releases of an older Larder have none.

    `claims` are those of an id token whose signature Larder checked; without, a person or a token published, as the
    release names them. `facts` are the claims by the names that all vendors share: repository, commit, ref, workflow,
    run, actor. `others` sent a part of the bytes, or opened the draft that was handed in from here: another token of
    the same person, another run of the same trusted publisher, or the upload that a further module is read from.
    """

    release = models.OneToOneField("releases.Release", models.CASCADE, related_name="origin")
    way = models.CharField(max_length=8, choices=Way.choices)
    publisher = models.ForeignKey(
        "accounts.TrustedPublisher", models.SET_NULL, null=True, blank=True, related_name="origins"
    )
    vendor = models.CharField(max_length=10, blank=True, help_text="The kind of the trusted publisher.")
    issuer = models.CharField(max_length=200, blank=True)
    claims = models.JSONField(default=dict, blank=True)
    facts = models.JSONField(default=dict, blank=True)
    links = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="Links to the facts that Larder fetched from Git."
    )
    token_label = models.CharField(max_length=100, blank=True)
    others = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Other accounts that sent bytes, with way, token label and facts.",
    )

    def __str__(self) -> str:
        return f"origin of {self.release_id}"

    @property
    def is_verified(self) -> bool:
        """All bytes came from one run, whose claims Larder verified. `verified` asks the same of the database."""
        return bool(self.vendor and self.claims) and not self.others


def verified(which: str | models.Expression = "pk") -> models.Exists:
    """Annotate releases, or rows with a path to one, with whether their origin is verified; or rows with one's key."""
    release = models.OuterRef(which) if isinstance(which, str) else which
    # Not equal: of an equation PostgreSQL makes a hash of all origins, to show fifteen rows.
    mine = {"release__gte": release, "release__lte": release}
    rows = Origin.objects.filter(**mine, others=[]).exclude(vendor="").exclude(claims={})
    return models.Exists(rows)


class Part(models.TextChoices):
    """The part that a person took in a release whose author is another account, mostly a machine."""

    TOKEN = "token", "Created the token"
    SYNC = "sync", "Started the sync"
    RETRY = "retry", "Retried the tag, or the job"
    ANSWER = "answer", "Answered its questions"
    ACTOR = "actor", "Started the run"
    TAGGER = "tagger", "Made the tag"
    PUSHER = "pusher", "Pushed the tag"


class Participant(models.Model):
    """A person who took part in a release beside its author, and so does not approve it: `origin.authors` asks.

    An account, or the mark of an identity (`accounts.identity.marks`) that may be one's. Written as it happens: token
    and tag may be gone when the decision is made. Marks are deleted once the release has ended.
    """

    release = models.ForeignKey("releases.Release", models.CASCADE, related_name="participants")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="took_part_in"
    )
    mark = models.CharField(max_length=64, blank=True)
    part = models.CharField(max_length=6, choices=Part.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["release", "user", "part"], condition=models.Q(mark=""), name="releases_participant_once"
            ),
            models.UniqueConstraint(
                fields=["release", "mark", "part"], condition=models.Q(user=None), name="releases_participant_mark_once"
            ),
            models.CheckConstraint(
                name="releases_participant_is_one",
                condition=models.Q(user=None) & ~models.Q(mark="") | models.Q(user__isnull=False, mark=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.part} of {self.release_id}"


class Decision(models.TextChoices):
    WAITING = "waiting"
    APPROVED = "approved"
    DECLINED = "declined"


class Approval(models.Model):
    """A release that waits for someone who took no part in it, or what that person decided about these very bytes.

    If the bytes turn out to be others when the release continues, the row waits again; the audit has what was decided
    before.
    """

    release = models.OneToOneField("releases.Release", models.CASCADE, related_name="approval")
    digest = models.CharField(max_length=64, help_text="Digest of the release that is approved.")
    needs_two = models.BooleanField(default=False, db_default=False, help_text="Two people must approve it.")
    asked_at = models.DateTimeField()
    until = models.DateTimeField(help_text="When the request expires without a decision.")
    decision = models.CharField(max_length=8, choices=Decision.choices, default=Decision.WAITING)
    # For the approver: how it differs from the version before, and what is unusual about it, as the worker found it.
    comparison = models.JSONField(default=dict, blank=True)
    unusual = models.JSONField(default=list, blank=True)
    # Where two people have to: the one who approved it before the one who decided.
    first_at = models.DateTimeField(null=True, blank=True)
    first_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    first_has_second_factor = models.BooleanField(default=False, db_default=False)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    token_id = models.BigIntegerField(null=True, blank=True, help_text="The token of an approval bot.")
    has_second_factor = models.BooleanField(default=False, help_text="The decision was confirmed with a second factor.")
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="releases_approval_decided",
                condition=models.Q(decision="waiting", decided_at=None) | models.Q(decided_at__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["until"], condition=models.Q(decision="waiting"), name="releases_approvals_waiting"),
        ]

    def __str__(self) -> str:
        return f"approval of {self.release_id}: {self.decision}"

    def allows(self, digest: str) -> bool:
        """Return whether these very bytes were approved."""
        return self.decision == Decision.APPROVED and self.digest == digest

    @property
    def is_breaking(self) -> bool:
        return bool(self.comparison.get("severity") == "breaking")

    @property
    def summary(self) -> str:
        """The changes since the version before it in a few words: if they break its users, and the most severe ones."""
        found: dict[str, Any] = self.comparison
        if not found.get("against"):
            return "The first version."
        verdict = "Nothing breaks."
        if self.is_breaking:
            verdict = "Breaking, as its number says." if found["is_said"] else "Breaking, but not a major version."
        elif found["severity"] == "risky":
            verdict = "Nothing breaks, but something may behave differently."
        changes = found["changes"]
        if not changes:
            return f"{verdict} No user-visible changes since {found['against']}."
        named = [f"{one['kind']} {one['name']} ({one['sentence']})" for one in changes[:CHANGES_NAMED]]
        more = len(changes) + found["more"] - len(named)
        return f"{verdict} Since {found['against']}: {', '.join(named)}{f' and {more:,} more' if more else ''}."


def joined(release: models.Model, name: str) -> Any:
    """Return a row that a release may lack, such as its `origin` and its `approval`, or None."""
    try:
        return getattr(release, name)
    except ObjectDoesNotExist:
        return None
