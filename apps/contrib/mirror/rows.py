"""Policy, alarms and runs: what people decide about upstreams and ask of them."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.releases.docs.models import DocsQuerySet, DocsRow


class StoredSum(models.Model):
    """The sums of an upstream's stored packages. `stored_sums.changing` keeps it; each night counts again."""

    upstream = models.OneToOneField("upstream.Upstream", models.CASCADE, primary_key=True, related_name="stored_sum")
    packages = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0, help_text="The same bytes count once.")

    def __str__(self) -> str:
        return f"{self.upstream}: {self.packages} packages"


class PackageDocs(models.Model):
    """The docs of a stored package: for every version, of any registry, with the same bytes.

    `stored_sums.changing` deletes it when no upstream stores the package any longer.
    """

    digest = models.CharField(max_length=64, unique=True, help_text="sha256 of the zip")
    reader = models.CharField(max_length=20, help_text="Version of the rules that read it.")
    pages = models.PositiveIntegerField(help_text="0: the package has none that Larder can read")
    size = models.PositiveBigIntegerField(help_text="bytes of all pages; counts to the quota")

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

    upstream = models.ForeignKey("upstream.Upstream", models.CASCADE, related_name="rules")
    position = models.PositiveIntegerField()
    pattern = models.CharField(max_length=130, help_text="Of addresses: hashicorp/*, */random, *.")
    effect = models.CharField(max_length=11, choices=Effect.choices)
    days = models.PositiveIntegerField(default=0, help_text="Of a cool-down.")
    versions = models.CharField(max_length=200, blank=True, help_text="A range such as >= 5.0, < 6.0; empty: all.")
    platforms = models.JSONField(default=list, blank=True, help_text="Only these, such as linux_amd64; empty: all.")
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

    version = models.ForeignKey("upstream.UpstreamVersion", models.CASCADE, null=True, related_name="exceptions")
    upstream = models.ForeignKey(
        "upstream.Upstream", models.CASCADE, null=True, related_name="module_exceptions", help_text="Of a module."
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
    upstream = models.ForeignKey("upstream.Upstream", models.CASCADE, related_name="alarms")
    provider = models.ForeignKey("upstream.UpstreamProvider", models.CASCADE, null=True, related_name="alarms")
    version = models.ForeignKey("upstream.UpstreamVersion", models.CASCADE, null=True, related_name="alarms")
    namespace = models.CharField(max_length=64)
    subject = models.CharField(max_length=400, help_text="host/namespace[/type[ version[ file]]], for lists.")
    known = models.JSONField(default=dict, help_text="Fingerprint, digest or list so far.")
    found = models.JSONField(default=dict, help_text="The same fields, as the registry has them now.")
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

    version = models.ForeignKey("upstream.UpstreamVersion", models.CASCADE, related_name="+")
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

    request = models.JSONField(help_text="As of a run.")
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
    plan = models.JSONField(default=list, blank=True, help_text="What would be fetched, one entry for each package.")
    planned = models.PositiveIntegerField(default=0, help_text="packages")
    planned_bytes = models.BigIntegerField(default=0)
    done = models.PositiveIntegerField(default=0, help_text="packages; a stopped run continues here")
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
        default=list, blank=True, help_text="Hashes of providers published here, by what the asker sees."
    )
    state = models.CharField(max_length=9, choices=RunState.choices, default=RunState.PLANNING)
    planned = models.PositiveIntegerField(default=0, help_text="packages")
    done = models.PositiveIntegerField(default=0)
    lock = models.TextField(blank=True, help_text="The finished file.")
    problem = models.TextField(blank=True)
    tries = models.PositiveIntegerField(default=0, help_text="Grows when it ends: requests wait for that.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"lock {self.pk}"
