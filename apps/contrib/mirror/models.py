"""Other registries, what is known and stored of their providers, and what people decide: policy, alarms and runs.

Addresses belong to a host: `hashicorp/random` on two hosts are two providers with different bytes.
"""

import uuid
from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.accounts.models import Visibility
from apps.blobs.models import Blob
from apps.releases.docs.models import DocsQuerySet, DocsRow

MAX_HOST_CHARACTERS = 255


class Upstream(models.Model):
    """A registry whose providers Larder mirrors."""

    host = models.CharField(
        max_length=MAX_HOST_CHARACTERS, unique=True, help_text="Host name as in provider addresses, normalised."
    )
    url = models.CharField(
        max_length=500, blank=True, help_text="URL of its discovery document. Empty: https:// and the host."
    )
    is_enabled = models.BooleanField(default=False)
    is_sealed = models.BooleanField(
        default=False, help_text="Offline mode: packages are fetched only by syncs, never on demand."
    )
    visibility = models.CharField(max_length=8, choices=Visibility.choices, default=Visibility.PUBLIC)
    terraform_only = models.BooleanField(
        default=False, help_text="Serve Terraform clients only, as the registry's terms require."
    )
    terms_accepted_at = models.DateTimeField(null=True, blank=True)
    cooldown_days = models.PositiveIntegerField(
        default=3, help_text="Hide versions younger than this, unless a rule says otherwise."
    )
    sealed_token = models.TextField(blank=True, help_text="Encrypted, see accounts.identity.sealing.")
    ca = models.TextField(blank=True, help_text="PEM certificates to trust in addition to the system's.")
    proxy = models.CharField(max_length=500, blank=True, help_text="The outgoing HTTP proxy.")
    list_seconds = models.PositiveIntegerField(default=600, help_text="How long a list is cached.")
    stale_hours = models.PositiveIntegerField(
        default=24 * 7, help_text="How long cached lists are served while the registry is down."
    )
    quota_bytes = models.BigIntegerField(default=0, help_text="0: no limit.")
    evict_days = models.PositiveIntegerField(
        default=0, help_text="Delete packages that clients have not fetched for this long. 0: never."
    )
    # Health, and the circuit breaker that all processes share.
    failures = models.PositiveIntegerField(default=0, help_text="Number of consecutive failures.")
    open_until = models.DateTimeField(
        null=True, blank=True, help_text="The registry is not contacted until then, because it kept failing."
    )
    succeeded_at = models.DateTimeField(null=True, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)
    failure = models.JSONField(default=dict, blank=True, help_text="Last failure: url, status, rule and message.")
    discovered = models.CharField(max_length=500, blank=True, help_text="The base URL of providers.v1.")
    discovered_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [
            models.CheckConstraint(name="upstream_host_lower_case", condition=Q(host__regex=r"^[^A-Z/]+$")),
        ]
        permissions = [("operate_upstream", "Can change upstreams, their policy, pins and alarms")]

    def __str__(self) -> str:
        return self.host

    @property
    def base_url(self) -> str:
        return self.url or f"https://{self.host}"


class KeyState(models.TextChoices):
    TRUSTED = "trusted"
    WAITING = "waiting", "Waiting for staff"
    REFUSED = "refused"


class KeyPinQuerySet(models.QuerySet["KeyPin"]):
    def of(self, provider: "UpstreamProvider") -> Self:
        """Return its pins, with those that an older Larder wrote beside this one, which name no provider."""
        signed = provider.versions.exclude(key=None).values("key")
        return self.filter(Q(provider=provider) | Q(provider=None, pk__in=signed))


class KeyPin(models.Model):
    """A key of a provider. Those that the first document names are trusted; another one waits for staff.

    Each provider has its own, as in the OpenTofu registry.
    """

    upstream = models.ForeignKey(Upstream, models.CASCADE, related_name="pins")
    namespace = models.CharField(max_length=64)
    provider = models.ForeignKey("upstream.UpstreamProvider", models.CASCADE, null=True, related_name="pins")
    fingerprint = models.CharField(max_length=64, help_text="Upper-case hex digits.")
    armor = models.TextField()
    source = models.CharField(max_length=200, blank=True, help_text="Source that the registry states for the key.")
    state = models.CharField(max_length=8, choices=KeyState.choices)
    first_seen_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    reason = models.CharField(max_length=300, blank=True)

    objects = KeyPinQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "fingerprint"], name="upstream_pin_of_provider_once"),
        ]

    def __str__(self) -> str:
        return f"{self.about}: {self.fingerprint}"

    @property
    def address(self) -> str:
        """Whose key it is."""
        return self.provider.address if self.provider else self.namespace

    @property
    def about(self) -> str:
        """Whose key it is, with the host."""
        return f"{self.upstream}/{self.address}"


class Allows(models.TextChoices):
    """The kinds of providers that staff can allow in a namespace."""

    NO_KEY = "no_key", "Providers without a key"
    WEAK_SIGNATURE = "weak_signature", "Signatures with SHA-1 or in text mode"


class UnsignedAllowance(models.Model):
    """Providers of this namespace are accepted although the registry names no key for them, or with weak signatures."""

    upstream = models.ForeignKey(Upstream, models.CASCADE, related_name="unsigned")
    namespace = models.CharField(max_length=64)
    allows = models.CharField(max_length=14, choices=Allows.choices, default=Allows.NO_KEY, db_default=Allows.NO_KEY)
    reason = models.CharField(max_length=300)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["upstream", "namespace", "allows"], name="upstream_allowed_once")
        ]

    def __str__(self) -> str:
        return f"{self.upstream}/{self.namespace}"


class UpstreamProviderQuerySet(models.QuerySet["UpstreamProvider"]):
    def known(self) -> Self:
        """Return those of which a list was ever read."""
        return self.exclude(listed_at=None)


class UpstreamProvider(models.Model):
    """A provider that a client asked for, and the state of its list of versions."""

    upstream = models.ForeignKey(Upstream, models.CASCADE, related_name="providers")
    namespace = models.CharField(max_length=64)
    type = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    listed_at = models.DateTimeField(null=True, blank=True, help_text="When its list was last read or confirmed.")
    first_listed_at = models.DateTimeField(null=True, blank=True)
    etag = models.CharField(max_length=200, blank=True)
    last_modified = models.CharField(max_length=100, blank=True)
    warnings = models.JSONField(default=list, blank=True)
    skipped = models.PositiveIntegerField(default=0, help_text="List entries that Larder cannot use.")
    tried_at = models.DateTimeField(null=True, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True, help_text="Not contacted again before this time.")
    failure = models.JSONField(default=dict, blank=True, help_text="Last failure: code, url, status, rule and message.")
    tries = models.PositiveIntegerField(default=0, help_text="Incremented when an attempt ends. Requests wait for it.")

    objects = UpstreamProviderQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["upstream", "namespace", "type"], name="upstream_provider_once"),
        ]
        # Names that somebody asked for and no registry has: staff look for them, and they are pruned.
        indexes = [models.Index(fields=["created_at"], condition=Q(listed_at=None), name="upstream_never_listed")]

    def __str__(self) -> str:
        return f"{self.upstream}/{self.namespace}/{self.type}"

    @property
    def address(self) -> str:
        """`namespace/type`, without the host."""
        return f"{self.namespace}/{self.type}"


class Verdict(models.TextChoices):
    """The verification of a version's sums. Never confuse the three."""

    NONE = "", "Not verified yet"
    PINNED = "pinned", "Signed by a pinned key"
    FIRST_SEEN = "first_seen", "Signed by a key seen for the first time"
    NO_KEY = "no_key", "The registry names no key"


class Absence(models.TextChoices):
    """The decision of staff about a version that its registry no longer lists."""

    UNDECIDED = "", "Not decided"
    KEPT = "kept", "Served on"
    GONE = "gone", "Removed"


class UpstreamVersionQuerySet(models.QuerySet["UpstreamVersion"]):
    def offered(self) -> Self:
        """Return those that clients may choose, if policy shows them: what is listed, and what is stored."""
        packages = UpstreamPackage.objects.filter(version=models.OuterRef("pk"), blob__isnull=False)
        return self.filter(Q(is_listed=True) | ~Q(verdict=Verdict.NONE) & models.Exists(packages))


class UpstreamVersion(models.Model):
    """A version that the registry lists. Sums, signature, key and verdict are set together or not at all."""

    provider = models.ForeignKey(UpstreamProvider, models.CASCADE, related_name="versions")
    version = models.CharField(max_length=128)
    sort_key = models.BinaryField(max_length=400)
    protocols = models.JSONField(default=list)
    platforms = models.JSONField(default=list, help_text="Platforms as listed, each as [os, arch].")
    is_listed = models.BooleanField(default=True, help_text="Cleared if the registry no longer lists it.")
    absence = models.CharField(
        max_length=4,
        choices=Absence.choices,
        db_default="",
        default="",
        blank=True,
        help_text="When a version that is no longer listed disappeared.",
    )
    first_seen_at = models.DateTimeField()
    published_at = models.DateTimeField(null=True, blank=True, help_text="The earliest date that the registry states.")
    was_in_first_list = models.BooleanField(
        default=False, help_text="Older than the highest version. Counts as old without a date."
    )
    verdict = models.CharField(max_length=10, choices=Verdict.choices, default=Verdict.NONE, blank=True)
    verified_at = models.DateTimeField(null=True, blank=True)
    sums = models.BinaryField(default=bytes, help_text="SHA256SUMS as it was signed.")
    signature = models.BinaryField(default=bytes)
    key = models.ForeignKey(KeyPin, models.PROTECT, null=True, blank=True, related_name="versions")
    index_digest = models.CharField(max_length=71, blank=True, db_index=True, help_text="Digest of its OCI index.")
    tried_at = models.DateTimeField(null=True, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)
    failure = models.JSONField(default=dict, blank=True, help_text="Same meaning as on the provider.")
    tries = models.PositiveIntegerField(default=0)

    objects = UpstreamVersionQuerySet.as_manager()

    class Meta:
        constraints = [
            # sort_key, not version: 1.0.0+a and 1.0.0+b are one version (D10)
            models.UniqueConstraint(fields=["provider", "sort_key"], name="upstream_version_once"),
            models.CheckConstraint(
                name="upstream_whole_record",
                condition=Q(verdict="", verified_at=None) | ~Q(verdict="") & Q(verified_at__isnull=False),
            ),
            models.CheckConstraint(
                name="upstream_signed_has_key",
                condition=Q(verdict__in=["", "no_key"], key=None) | Q(verdict__in=["pinned", "first_seen"], key__gt=0),
            ),
        ]
        indexes = [
            models.Index(fields=["version"], name="upstream_by_version"),
            models.Index(fields=["verdict"], name="upstream_by_verdict"),
            models.Index(fields=["provider"], condition=Q(is_listed=False), name="upstream_unlisted"),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.version}"

    @property
    def is_gone(self) -> bool:
        """Staff accepted that the registry removed it."""
        return not self.is_listed and self.absence == Absence.GONE

    @property
    def known_since(self) -> datetime | None:
        """From when its age counts; None: it is old. A registry may state a date later than we have seen it."""
        if self.published_at is None:
            return None if self.was_in_first_list else self.first_seen_at
        return min(self.published_at, self.first_seen_at)


class UpstreamPackage(models.Model):
    """One zip. Created with the record of its version; `blob` and `h1` are set once its bytes are verified."""

    version = models.ForeignKey(UpstreamVersion, models.CASCADE, related_name="packages")
    os = models.CharField(max_length=20)
    arch = models.CharField(max_length=20)
    filename = models.CharField(max_length=255)
    digest = models.CharField(max_length=64, help_text="SHA-256 from the signed sums, also written as zh:.")
    size = models.BigIntegerField(
        null=True, blank=True, help_text="Size in bytes, as the registry states it until the package is stored."
    )
    h1 = models.CharField(max_length=50, blank=True, help_text="h1: hash of the unpacked files.")
    manifest_digest = models.CharField(max_length=71, blank=True, db_index=True)
    blob = models.ForeignKey(Blob, models.PROTECT, null=True, blank=True, related_name="+")
    is_pinned = models.BooleanField(default=False, help_text="Never evicted.")
    fetched_at = models.DateTimeField(null=True, blank=True)
    fetched_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    fetched_from = models.CharField(max_length=1000, blank=True, help_text="The URL without its query.")
    used_at = models.DateTimeField(null=True, blank=True, db_index=True, help_text="When a client last fetched it.")
    uses = models.BigIntegerField(default=0)
    tried_at = models.DateTimeField(null=True, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)
    failure = models.JSONField(default=dict, blank=True, help_text="Same meaning as on the provider.")
    tries = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version", "os", "arch"], name="upstream_platform_once"),
            models.UniqueConstraint(fields=["version", "filename"], name="upstream_filename_once"),
            models.CheckConstraint(name="upstream_package_digest", condition=Q(digest__regex=r"^[0-9a-f]{64}$")),
            models.CheckConstraint(
                name="upstream_stored_whole", condition=Q(blob=None) | Q(fetched_at__isnull=False) & ~Q(h1="")
            ),
        ]
        indexes = [
            models.Index(fields=["digest"], name="upstream_by_digest", opclasses=["varchar_pattern_ops"]),
            models.Index(fields=["filename"], name="upstream_by_filename", opclasses=["varchar_pattern_ops"]),
            models.Index(fields=["version"], condition=Q(is_pinned=True), name="upstream_pinned"),
        ]

    def __str__(self) -> str:
        return self.filename

    @property
    def platform(self) -> str:
        return f"{self.os}_{self.arch}"

    @property
    def zh(self) -> str:
        return f"zh:{self.digest}"


class StoredSum(models.Model):
    """The sums of an upstream's stored packages. `stored_sums.changing` keeps it; each night counts again."""

    upstream = models.OneToOneField(Upstream, models.CASCADE, primary_key=True, related_name="stored_sum")
    packages = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0, help_text="The same bytes count once.")

    def __str__(self) -> str:
        return f"{self.upstream}: {self.packages} packages"


class MirrorDay(models.Model):
    """The packages that an upstream's mirror served to clients on one day (UTC), and those that it fetched."""

    upstream = models.ForeignKey(Upstream, models.CASCADE, related_name="days", db_index=False)
    day = models.DateField()
    served = models.PositiveBigIntegerField(default=0)
    served_bytes = models.PositiveBigIntegerField(default=0)
    fetched = models.PositiveBigIntegerField(default=0)
    fetched_bytes = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upstream", "day"], name="upstream_mirror_day_once")]

    def __str__(self) -> str:
        return f"{self.day} {self.upstream}: {self.served} served, {self.fetched} fetched"


class PackageDocs(models.Model):
    """The docs of a stored package: for every version, of any registry, with the same bytes.

    `stored_sums.changing` deletes it when no upstream stores the package any longer.
    """

    digest = models.CharField(max_length=64, unique=True, help_text="sha256 of the zip")
    reader = models.CharField(max_length=20, help_text="Version of the rules that read the package.")
    pages = models.PositiveIntegerField(help_text="Number of pages. 0: none that Larder can read.")
    size = models.PositiveBigIntegerField(help_text="Size of all pages in bytes. Counts towards the quota.")

    def __str__(self) -> str:
        return f"sha256:{self.digest}"


class PackageDocsPage(DocsRow):
    """One page of them. Links in its HTML begin with `docs.PREFIX`: the page has an address for each version."""

    docs = models.ForeignKey(PackageDocs, models.CASCADE, related_name="rows")

    objects = DocsQuerySet["PackageDocsPage"].as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["docs", "kind", "slug"], name="upstream_docs_page_once")]

    def __str__(self) -> str:
        return self.name


class Effect(models.TextChoices):
    ALLOW = "allow", "Allow"
    DENY = "deny", "Deny"
    COOL_DOWN = "cool_down", "Hold back until N days old"
    SIGNED_ONLY = "signed_only", "Allow only if signed by a known key"


class PolicyRule(models.Model):
    """One rule of an upstream. For a version the first rule whose conditions all match decides."""

    upstream = models.ForeignKey(Upstream, models.CASCADE, related_name="rules")
    position = models.PositiveIntegerField()
    pattern = models.CharField(max_length=130, help_text="Addresses such as hashicorp/*, */random or *.")
    effect = models.CharField(max_length=11, choices=Effect.choices)
    days = models.PositiveIntegerField(default=0, help_text="Days of a cool-down.")
    versions = models.CharField(
        max_length=200, blank=True, help_text="Range such as >= 5.0, < 6.0. Empty: all versions."
    )
    platforms = models.JSONField(default=list, blank=True, help_text="Platforms such as linux_amd64. Empty: all.")
    advisories_only = models.BooleanField(default=False, help_text="Matches versions that an advisory names.")
    reason = models.CharField(max_length=300, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upstream", "position"], name="upstream_rule_position_once")]

    def __str__(self) -> str:
        return f"{self.position}. {self.effect} {self.pattern}"


class PolicyException(models.Model):
    """Staff let one version through, for a time: of a provider, or of a module, whose versions have no rows here."""

    version = models.ForeignKey(UpstreamVersion, models.CASCADE, null=True, related_name="exceptions")
    upstream = models.ForeignKey(
        Upstream, models.CASCADE, null=True, related_name="module_exceptions", help_text="Repository of the module."
    )
    module = models.CharField(
        max_length=200, db_default="", default="", blank=True, help_text="namespace/name/system, in lower case."
    )
    module_version = models.CharField(max_length=128, db_default="", default="", blank=True)
    reason = models.CharField(max_length=300)
    expires_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="upstream_exception_names_one",
                condition=Q(version__isnull=False, upstream=None, module="", module_version="")
                | Q(version=None, upstream__isnull=False) & ~Q(module="") & ~Q(module_version=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.about} until {self.expires_at:%Y-%m-%d}"

    @property
    def about(self) -> str:
        """The host, the address and the version."""
        return str(self.version) if self.version else f"{self.upstream}/{self.module} {self.module_version}"

    @property
    def address(self) -> str:
        """Of the provider or the module, without the host."""
        return self.version.provider.address if self.version else self.module

    @property
    def number(self) -> str:
        """The version, as the registry writes it."""
        return self.version.version if self.version else self.module_version


class AlarmKind(models.TextChoices):
    KEY_CHANGED = "key_changed", "A different key"
    BYTES_CHANGED = "bytes_changed", "Different bytes for a known version"
    SIGNATURE_BAD = "signature_bad", "A signature that does not fit"
    NO_KEY = "no_key", "The registry names no key"
    LIST_SHRANK = "list_shrank", "Versions vanished from a list"


class AlarmState(models.TextChoices):
    OPEN = "open"
    ACCEPTED = "accepted"  # staff trust what was found from now on
    DISMISSED = "dismissed"  # what was known before stays; what was found stays refused


class Alarm(models.Model):
    """Something that was refused and waits for staff, with what was known and what was found side by side."""

    kind = models.CharField(max_length=13, choices=AlarmKind.choices)
    upstream = models.ForeignKey(Upstream, models.CASCADE, related_name="alarms")
    provider = models.ForeignKey(UpstreamProvider, models.CASCADE, null=True, related_name="alarms")
    version = models.ForeignKey(UpstreamVersion, models.CASCADE, null=True, related_name="alarms")
    namespace = models.CharField(max_length=64)
    subject = models.CharField(max_length=400, help_text="host/namespace[/type[ version[ file]]], for lists.")
    known = models.JSONField(default=dict, help_text="Fingerprint, digest or list so far.")
    found = models.JSONField(default=dict, help_text="The same fields, as the registry states them now.")
    url = models.CharField(max_length=1000, blank=True)
    state = models.CharField(max_length=9, choices=AlarmState.choices, default=AlarmState.OPEN)
    raised_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(help_text="When it was last found.")
    times = models.PositiveIntegerField(default=1)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    reason = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "upstream", "subject"], condition=Q(state="open"), name="upstream_alarm_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.subject}"


class HeldBack(models.Model):
    """A person was not given a version, lately: for the page of staff. Deleted after an hour."""

    version = models.ForeignKey(UpstreamVersion, models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+")
    at = models.DateTimeField(db_index=True, help_text="Last.")

    def __str__(self) -> str:
        return f"{self.version} from {self.user or 'a client without a token'}"


class RunState(models.TextChoices):
    PLANNING = "planning"
    PLANNED = "planned"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Schedule(models.Model):
    """A sync that runs again and again."""

    request = models.JSONField(help_text="Same meaning as on a run.")
    every_hours = models.PositiveIntegerField(default=24)
    next_at = models.DateTimeField()
    is_enabled = models.BooleanField(default=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    def __str__(self) -> str:
        return f"every {self.every_hours} h"


class SyncRun(models.Model):
    """Fetches packages in advance: first a plan of versions, platforms and bytes, then one package after another."""

    request = models.JSONField(help_text="patterns, lock, required_providers, platforms")
    state = models.CharField(max_length=9, choices=RunState.choices, default=RunState.PLANNING)
    plan = models.JSONField(default=list, blank=True, help_text="Packages that would be fetched, one entry each.")
    planned = models.PositiveIntegerField(default=0, help_text="Number of packages.")
    planned_bytes = models.BigIntegerField(default=0)
    done = models.PositiveIntegerField(default=0, help_text="Number of packages done. A stopped run continues here.")
    done_bytes = models.BigIntegerField(default=0)
    problems = models.JSONField(default=list, blank=True)
    schedule = models.ForeignKey(Schedule, models.SET_NULL, null=True, related_name="runs")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["state"], name="upstream_syncs_by_state")]

    def __str__(self) -> str:
        return f"sync {self.pk}"


class LockRun(models.Model):
    """Completes a lock file. The answer is deleted after a day."""

    public_id = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    request = models.JSONField(help_text="The providers with their versions, and the platforms.")
    own = models.JSONField(
        default=list, blank=True, help_text="Hashes of providers published here that the requester can see."
    )
    state = models.CharField(max_length=9, choices=RunState.choices, default=RunState.PLANNING)
    planned = models.PositiveIntegerField(default=0, help_text="Number of packages.")
    done = models.PositiveIntegerField(default=0)
    lock = models.TextField(blank=True, help_text="The finished file.")
    problem = models.TextField(blank=True)
    tries = models.PositiveIntegerField(default=0, help_text="Incremented when the run ends. Requests wait for it.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"lock {self.pk}"
