import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, Q
from django.db.models.functions import Now
from django.utils import timezone

from apps.accounts.models import Namespace, Team
from apps.artifacts.models import ChunkedUpload
from apps.lib.errors import Reason
from apps.releases import cleanup_rules  # noqa: F401  # Django looks for models from here
from apps.releases.origin import models as origin_models  # noqa: F401


class Kind(models.TextChoices):
    MODULE = "module"
    PROVIDER = "provider"


class State(models.TextChoices):
    """The state machine of D4. `rejected` has reasons to act on; `failed` is a defect of Larder.

    `held` waits for its publisher's answers, `awaiting-approval` for another person, `signing` for the signature of its
    sums (providers only); `purged` is a tombstone.
    """

    RECEIVING = "receiving"
    RECEIVED = "received"
    CHECKING = "checking"
    HELD = "held"
    AWAITING_APPROVAL = "awaiting-approval"
    SIGNING = "signing"
    PUBLISHED = "published"
    REJECTED = "rejected"
    FAILED = "failed"
    PURGED = "purged"


class Lifecycle(models.TextChoices):
    """The maintainers' word on a published version (D9). A quarantine by staff is independent of it."""

    MAINTAINED = "maintained"
    DEPRECATED = "deprecated"
    YANKED = "yanked"


# A release in one of these states occupies its version number; rejected and failed ones free it for a retry.
LIVE = (
    State.RECEIVING,
    State.RECEIVED,
    State.CHECKING,
    State.HELD,
    State.AWAITING_APPROVAL,
    State.SIGNING,
    State.PUBLISHED,
    State.PURGED,
)
# In progress: it may still be rejected or cancelled.
WORKING = (
    State.RECEIVING,
    State.RECEIVED,
    State.CHECKING,
    State.HELD,
    State.AWAITING_APPROVAL,
    State.SIGNING,
)
# A worker may take it up.
READY = (State.RECEIVED, State.CHECKING, State.SIGNING)


@dataclass(frozen=True, slots=True)
class Staged:
    """Bytes that came in for a release."""

    key: str


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that were a blob before the release began; they are published unchanged."""

    digest: str


Source = Staged | Stored


def visible_now(prefix: str = "") -> Q:
    """Match releases that clients see. `prefix` is the path to the release: `release__`."""
    return Q(**{f"{prefix}visible_at": None}) | Q(**{f"{prefix}visible_at__lte": Now()})


class ReleaseQuerySet(models.QuerySet["Release"]):
    def live(self) -> Self:
        return self.filter(state__in=LIVE)

    def published(self) -> Self:
        """Return what may be read and fetched: published and not in quarantine. Includes yanked releases (D9)."""
        return self.filter(state=State.PUBLISHED, quarantined_at=None)

    def unyanked(self) -> Self:
        """Return published releases that are not yanked, also those that clients do not see yet."""
        return self.published().exclude(lifecycle=Lifecycle.YANKED)

    def listed(self) -> Self:
        """Return what version lists name: published, not yanked, and not held back by a cool-down."""
        return self.unyanked().filter(visible_now())

    def removed(self) -> Self:
        return self.filter(state=State.PURGED)

    def containing(self, digest: str) -> Self:
        """Return releases in any state that consist of these bytes or have them as a part."""
        whole = Release.objects.filter(digest=digest).values_list("pk", flat=True)
        return self.filter(pk__in=whole.union(ReleaseBlob.objects.filter(digest=digest).values_list("release")))

    def with_bytes(self, digest: str) -> Self:
        """Return releases through which these bytes may be fetched.

        None while any release with them is in quarantine, even a purged one: quarantine is about bytes.
        """
        blocked = Release.objects.containing(digest).filter(quarantined_at__isnull=False)
        return self.published().filter(~Exists(blocked)).containing(digest)

    def newest_first(self) -> Self:
        """Order by SemVer precedence; the primary key only makes the order total."""
        return self.order_by("-sort_key", "-pk")


class Release(models.Model):
    """One version of any kind: reserved before its bytes arrive, and never changed once published.

    `name` is the address within the namespace, `name/system` for a module. `uploaded_*` describe the bytes as sent,
    `digest` and `size` those stored and served, which differ if the archive was repacked (D5).
    """

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="releases")
    name = models.CharField(max_length=130)
    version = models.CharField(max_length=128)
    sort_key = models.BinaryField(
        max_length=600, editable=False, help_text="Sort key: byte order is SemVer precedence."
    )
    state = models.CharField(max_length=20, choices=State.choices, default=State.RECEIVING, db_index=True)
    reasons = models.JSONField(default=list, blank=True)

    file_name = models.CharField(max_length=255, blank=True, help_text="File name on the publisher's computer.")
    staging_key = models.CharField(max_length=80)
    ticket_digest = models.CharField(
        max_length=64, blank=True, db_index=True, help_text="SHA-256 of a ticket that has not been used."
    )
    receiving_until = models.DateTimeField(null=True, blank=True)
    uploaded_digest = models.CharField(max_length=64, blank=True, db_index=True)
    uploaded_size = models.BigIntegerField(null=True, blank=True)
    digest = models.CharField(max_length=64, blank=True, db_index=True)
    size = models.BigIntegerField(null=True, blank=True)

    # How to read the archive, the worker's remarks, and the questions to its publisher.
    folder = models.CharField(max_length=4_000, blank=True, help_text="Folders to publish, one per line. Empty: all.")
    asks = models.BooleanField(
        default=False, help_text="Questions hold the release for an answer instead of rejecting it."
    )
    questions = models.JSONField(
        default=list, blank=True, help_text="Questions and findings, each with the code that confirms it."
    )
    confirmed = models.JSONField(default=list, blank=True, help_text="Codes of the confirmed questions.")
    breaking_reason = models.CharField(
        max_length=500,
        blank=True,
        default="",
        db_default="",
        help_text="Publisher's reason for breaking changes in this version.",
    )
    held_until = models.DateTimeField(null=True, blank=True)
    notes = models.JSONField(default=dict, blank=True, help_text="form, top_folder, left_out, folders: see modules")

    lifecycle = models.CharField(max_length=10, choices=Lifecycle.choices, default=Lifecycle.MAINTAINED)
    lifecycle_reason = models.CharField(max_length=500, blank=True)
    lifecycle_replacement = models.CharField(max_length=200, blank=True, help_text="Version or address to use instead.")
    lifecycle_at = models.DateTimeField(null=True, blank=True)
    lifecycle_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    cleaned_at = models.DateTimeField(null=True, blank=True, help_text="When a cleanup rule last changed it.")
    quarantined_at = models.DateTimeField(null=True, blank=True)
    quarantine_reason = models.CharField(max_length=500, blank=True)
    quarantined_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    # The last verification of the stored bytes.
    verified_at = models.DateTimeField(null=True, blank=True)
    verified_as = models.CharField(max_length=8, blank=True, help_text="sound, damaged, missing or refused.")
    verified_findings = models.JSONField(default=list, blank=True)

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="releases")
    token_id = models.BigIntegerField(null=True, blank=True)
    session_digest = models.CharField(
        max_length=40, blank=True, default="", db_default="", help_text="Browser session that reserved the version."
    )
    provenance = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    received_at = models.DateTimeField(null=True, blank=True)
    checking_at = models.DateTimeField(null=True, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    signed_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was signed. Empty for kinds without a signature."
    )
    finished_at = models.DateTimeField(null=True, blank=True)
    published_at = models.DateTimeField(null=True, blank=True)
    visible_at = models.DateTimeField(
        null=True, blank=True, help_text="Hidden from clients until this time. Empty once they see it."
    )

    objects = ReleaseQuerySet.as_manager()

    class Meta:
        constraints = [
            # sort_key, not version: 1.0.0+a and 1.0.0+b are one version (D10)
            models.UniqueConstraint(
                fields=["kind", "namespace", "name", "sort_key"],
                condition=Q(state__in=LIVE),
                name="releases_version_once",
            ),
            models.CheckConstraint(
                name="releases_published_is_complete",
                condition=~Q(state="published")
                | Q(published_at__isnull=False, size__isnull=False, digest__regex=r"^[0-9a-f]{64}$"),
            ),
            models.CheckConstraint(name="releases_state_known", condition=Q(state__in=State.values)),
            models.CheckConstraint(name="releases_lifecycle_known", condition=Q(lifecycle__in=Lifecycle.values)),
        ]
        indexes = [
            models.Index(fields=["kind", "namespace", "name", "-sort_key"], name="releases_newest"),
            models.Index(fields=["-created_at"], name="releases_latest"),
            models.Index(fields=["digest"], condition=Q(quarantined_at__isnull=False), name="releases_blocked"),
            # For the filters of operators: few releases are not maintained.
            models.Index(fields=["lifecycle"], condition=~Q(lifecycle="maintained"), name="releases_discouraged"),
            models.Index(fields=["-published_at"], name="releases_newly_published"),
            models.Index(fields=["namespace", "-published_at"], name="releases_newly_published_there"),
            models.Index(fields=["namespace", "-created_at"], name="releases_latest_there"),
            # Counted for the user menu of every page.
            models.Index(fields=["created_by"], condition=Q(state="held"), name="releases_held"),
            # A person's own releases, and how many there are in each state.
            models.Index(fields=["created_by", "namespace", "state"], name="releases_of_person"),
            # Who else took part in an upload that became several releases.
            models.Index(fields=["staging_key"], condition=~Q(staging_key=""), name="releases_of_upload"),
            # For the searches of operators.
            models.Index(fields=["name"], name="releases_by_name", opclasses=["varchar_pattern_ops"]),
            models.Index(fields=["version"], name="releases_by_version"),
            models.Index(
                fields=["state", "quarantined_at"],
                condition=Q(quarantined_at__isnull=False),
                name="releases_in_quarantine",
            ),
            models.Index(fields=["verified_as"], condition=~Q(verified_as__in=["", "sound"]), name="releases_unsound"),
            models.Index(fields=["visible_at"], condition=Q(visible_at__isnull=False), name="releases_held_back"),
        ]
        # For staff, in the portal, the API and the admin alike: `lifecycle.actions` asks for them.
        permissions = [
            ("deprecate_release", "Can deprecate a published version"),
            ("yank_release", "Can yank a published version"),
            ("quarantine_release", "Can put a published version into quarantine"),
            ("restore_release", "Can restore a published version"),
            ("purge_release", "Can purge a published version"),
            ("verify_release", "Can verify stored bytes"),
        ]

    def __str__(self) -> str:
        return f"{self.address} {self.version}"

    @property
    def address(self) -> str:
        return f"{self.namespace.name}/{self.name}"

    @property
    def source(self) -> Source:
        """The bytes that it begins with; for a draft, which has several files, see `ReleaseFile`."""
        return Staged(self.staging_key) if self.staging_key else Stored(self.digest)

    @property
    def is_held_back(self) -> bool:
        """Clients do not see it yet."""
        return self.visible_at is not None and self.visible_at > timezone.now()

    @property
    def is_working(self) -> bool:
        return self.state in WORKING

    @property
    def removal(self) -> str:
        """Say of a tombstone: `acme/vpc/aws 1.2.0 was removed on 2026-11-20: it held a key.`"""
        when = f" on {self.lifecycle_at:%Y-%m-%d}" if self.lifecycle_at else ""
        why = self.lifecycle_reason
        return f"{self} was removed{when}: {why}{'' if why[-1:] in ('.', '!', '?') else '.'}"

    def refusals(self) -> list[Reason]:
        return [Reason.from_dict(reason) for reason in self.reasons]


class ReleaseFile(models.Model):
    """One uploaded file of a draft with several (a provider), staged until the release ends."""

    release = models.ForeignKey(Release, models.CASCADE, related_name="files")
    name = models.CharField(max_length=255)
    staging_key = models.CharField(max_length=80, unique=True)
    digest = models.CharField(max_length=64, help_text="SHA-256 of the received bytes.")
    size = models.BigIntegerField(help_text="Size in bytes.")
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["release", "name"], name="releases_file_once")]

    def __str__(self) -> str:
        return self.name


class ReleaseBlob(models.Model):
    """One blob of a release that is stored as several: a provider's packages, its sums and every signature.

    Written before the bytes and kept with the tombstone, so that a purge finds what to remove, and a quarantine still
    blocks them after the kind's own rows are gone.
    """

    release = models.ForeignKey(Release, models.CASCADE, related_name="blobs")
    digest = models.CharField(max_length=64, db_index=True, help_text="SHA-256, 64 hex digits.")
    name = models.CharField(max_length=255, help_text="File name that clients see.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["release", "digest"], name="releases_blob_once"),
            models.CheckConstraint(name="releases_blob_digest", condition=Q(digest__regex=r"^[0-9a-f]{64}$")),
        ]

    def __str__(self) -> str:
        return self.name


class DownloadCount(models.Model):
    """The downloads of one release on one day (UTC) by one version of a client (D15)."""

    release = models.ForeignKey(Release, models.CASCADE, related_name="download_counts")
    day = models.DateField()
    client = models.CharField(max_length=40, help_text="Such as OpenTofu 1.12.6 or Terraform 1.11.4, or other.")
    count = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["release", "day", "client"], name="releases_downloads_once")]
        indexes = [models.Index(fields=["day"], name="releases_downloads_by_day")]

    def __str__(self) -> str:
        return f"{self.day} {self.client}: {self.count}"


class Fetch(models.Model):
    """A person's downloads of a release, so that a yank can say whom it affects. Deleted with the person."""

    release = models.ForeignKey(Release, models.CASCADE, related_name="fetches")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="fetches")
    last_on = models.DateField()
    count = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["release", "user"], name="releases_fetches_once")]

    def __str__(self) -> str:
        return f"{self.user}: {self.count}"


class SearchDoc(models.Model):
    """The entry of one module or provider in lists and searches, about its default version. Verbs update it.

    The default version is the highest maintained or deprecated stable one, else the highest such pre-release; if all
    are yanked, the highest of those, and `is_listed` is false.
    """

    kind = models.CharField(max_length=8, choices=Kind.choices)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="search_docs")
    name = models.CharField(max_length=130, help_text="The name within the namespace, such as vpc/aws.")
    sort_key = models.BinaryField(
        max_length=200, editable=False, help_text="Sort key: byte order is the order of addresses."
    )
    description = models.CharField(max_length=300, blank=True)
    release = models.ForeignKey(Release, models.CASCADE, related_name="+")
    version = models.CharField(max_length=128)
    lifecycle = models.CharField(max_length=10, choices=Lifecycle.choices)
    is_prerelease = models.BooleanField()
    is_listed = models.BooleanField()
    published_at = models.DateTimeField()
    downloads = models.PositiveBigIntegerField(default=0, help_text="Downloads of all its versions, all time.")
    indexed_release = models.PositiveBigIntegerField(
        null=True, editable=False, help_text="Release whose words are indexed. A different one is indexed again."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "namespace", "name"], name="releases_doc_once")]
        indexes = [
            models.Index(fields=["kind", "namespace", "is_listed"], name="releases_docs_seen"),  # counts need no row
            models.Index(fields=["kind", "sort_key"], name="releases_docs_by_address"),
            models.Index(fields=["kind", "-published_at"], name="releases_docs_updated"),
            models.Index(fields=["published_at"], name="releases_docs_by_day"),
            models.Index(fields=["kind", "-downloads"], name="releases_docs_popular"),
            models.Index(fields=["name"], name="releases_docs_by_name", opclasses=["varchar_pattern_ops"]),
            models.Index(fields=["lifecycle"], condition=~Q(lifecycle="maintained"), name="releases_docs_discouraged"),
            models.Index(fields=["kind"], condition=Q(is_prerelease=True), name="releases_docs_prereleases"),
        ]
        permissions = [("rebuild_searchdoc", "Can rebuild a search document")]

    def __str__(self) -> str:
        return f"{self.namespace.name}/{self.name}"


class SearchWord(models.Model):
    """One word of a document or of something in it, in lower case as UTF-8 bytes: a range of bytes is a prefix search.

    The index begins with the namespace, so a query reads what its reader may see and nothing else: hidden words cost no
    time.
    """

    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_index=False)
    doc = models.ForeignKey("releases.SearchDoc", models.CASCADE, related_name="words", db_index=False)
    is_name = models.BooleanField(help_text="A word of the module's or provider's own name.")
    term = models.BinaryField(max_length=64)
    place = models.PositiveSmallIntegerField(help_text="Place of the word, as a weight.")
    name = models.CharField(max_length=200, blank=True, help_text="The whole name that contains the word.")
    unit = models.CharField(max_length=300, blank=True, help_text="The folder or docs page that declares it.")

    class Meta:
        indexes = [
            models.Index(fields=["namespace", "is_name", "term", "doc"], name="releases_words_seen"),
            models.Index(fields=["doc", "term"], name="releases_words_of_doc"),
        ]

    def __str__(self) -> str:
        return bytes(self.term).decode(errors="replace")


class SearchGram(models.Model):
    """Three letters of a word in use in a namespace, by which misspelled words are recognised."""

    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_index=False)
    gram = models.BinaryField(max_length=12)
    word = models.BinaryField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["namespace", "gram", "word"], name="releases_grams_once")]

    def __str__(self) -> str:
        return bytes(self.word).decode(errors="replace")


class SearchTerm(models.Model):
    """The words of an older Larder, which may run beside this one. Unused; the next release drops the table."""

    doc = models.ForeignKey("releases.SearchDoc", models.CASCADE, related_name="terms", db_index=False)
    term = models.BinaryField(max_length=64)
    weight = models.PositiveSmallIntegerField(help_text="Weight of its best place.")

    class Meta:
        # One index finds documents by a word, the other the words of a document.
        constraints = [models.UniqueConstraint(fields=["doc", "term"], name="releases_terms_once")]
        indexes = [models.Index(fields=["term", "doc"], name="releases_terms_by_word")]

    def __str__(self) -> str:
        return bytes(self.term).decode(errors="replace")


class SearchFacet(models.Model):
    """One value to filter documents by: `system` aws, `provider` hashicorp/aws."""

    doc = models.ForeignKey("releases.SearchDoc", models.CASCADE, related_name="facets")
    facet = models.CharField(max_length=12)
    value = models.CharField(max_length=200)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["facet", "value", "doc"], name="releases_facets_once")]

    def __str__(self) -> str:
        return f"{self.facet}: {self.value}"


class TeamDownload(models.Model):
    """The downloads of one release on one day (UTC) by the people of a team, or by one of its service accounts.

    A person in two teams counts for both. People are not told apart.
    """

    release = models.ForeignKey("releases.Release", models.CASCADE, related_name="team_downloads")
    day = models.DateField()
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        related_name="+",
        help_text="A service account of the team.",
    )
    count = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["release", "day", "team"], condition=Q(account=None), name="releases_team_downloads_once"
            ),
            models.UniqueConstraint(
                fields=["release", "day", "account"],
                condition=Q(account__isnull=False),
                name="releases_account_downloads_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.account or self.team}: {self.count}"


class Upload(ChunkedUpload):
    """The archive of a reserved release, or one file of a draft, on its way.

    It stays for a while after its last byte, so that the last request may be repeated.
    """

    LEASE = timedelta(seconds=15)  # a person waits for it when the line or the server came back

    release = models.ForeignKey("releases.Release", models.CASCADE, related_name="uploads")
    name = models.CharField(max_length=255, blank=True, help_text="File of a draft. Empty for an archive.")
    length = models.BigIntegerField(help_text="Total size in bytes.")
    expected = models.CharField(max_length=64, blank=True, help_text="SHA-256, as announced or computed.")
    metadata = models.CharField(max_length=2000, blank=True, help_text="Upload-Metadata, as it was sent.")
    ticket_digest = models.CharField(max_length=64, blank=True, db_index=True, help_text="SHA-256 of its ticket.")
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["release", "name"], condition=Q(finished_at=None), name="releases_upload_once"
            )
        ]
        indexes = [models.Index(fields=["expires_at"], name="releases_uploads_by_end")]


class UploadPart(models.Model):
    """Bytes of an upload, staged as an object of their own, which any web process on any host can join."""

    upload = models.ForeignKey(Upload, models.CASCADE, related_name="parts")
    start = models.BigIntegerField()
    size = models.BigIntegerField()
    staging_key = models.CharField(max_length=80)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upload", "start"], name="releases_part_once")]
