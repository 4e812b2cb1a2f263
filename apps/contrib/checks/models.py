"""Reports about versions, what a namespace requires of them, and releases that wait for them."""

import json
import zlib
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.contrib.checks.reading.shape import FAILED, FORMATS, RUN_STATES, SEVERITIES, STATES
from apps.lib.text.counting import many
from apps.releases.models import Kind, Release

MAX_NAME = 64
# A report that is older says so: tools learn new rules.
OLD = timedelta(days=90)
# How pages colour states and severities.
TONES = {
    **dict(zip(STATES, ("ok", "warn", "bad"), strict=True)),
    **dict(zip(SEVERITIES, ("bad", "bad", "warn", "info", "info"), strict=True)),
}


def _choices(words: Sequence[str]) -> list[tuple[str, str]]:
    return [(one, one.capitalize()) for one in words]


class Mode(models.TextChoices):
    """The fate of a release that lacks a required check."""

    WARN = "warn", "Publish it, and mark it"
    HOLD = "hold", "Hold it until the reports arrive"


class ReportQuerySet(models.QuerySet["Report"]):
    def about(self, release: Release) -> Self:
        """Return the reports of the release's number, with their details left out."""
        same = {"kind": release.kind, "namespace": release.namespace_id, "name": release.name}
        return self.filter(**same, sort_key=bytes(release.sort_key)).defer("packed")

    def newest(self) -> Self:
        return self.filter(is_newest=True)

    def listed(self) -> Self:
        """Return the newest of each name, in the order of their names, with their senders."""
        return self.newest().select_related("sent_by").order_by("check_name")


class Report(models.Model):
    """One report about one version number, which may have no release yet. Of a name the newest counts.

    `digest` is what it is about; empty if its sender did not say and there were no bytes yet. What the id token of a
    trusted publisher said of the sender is kept: the token is gone when it is asked whether the release has the same
    origin.
    """

    kind = models.CharField(max_length=8, choices=Kind.choices)
    namespace = models.ForeignKey("accounts.Namespace", models.CASCADE, related_name="+")
    name = models.CharField(max_length=130, help_text="As of the release.")
    version = models.CharField(max_length=128)
    sort_key = models.BinaryField(max_length=600, editable=False)
    check_name = models.CharField(max_length=MAX_NAME)
    is_newest = models.BooleanField(default=True)
    # Once it is published: lists and search read by it.
    release = models.ForeignKey("releases.Release", models.CASCADE, null=True, blank=True, related_name="check_reports")

    format = models.CharField(max_length=5, choices=FORMATS)
    state = models.CharField(max_length=7, choices=_choices(STATES))
    tool = models.CharField(max_length=200, blank=True)
    tool_version = models.CharField(max_length=60, blank=True)
    summary = models.CharField(max_length=2_000, blank=True)
    url = models.CharField(max_length=500, blank=True)
    counts = models.JSONField(default=dict, help_text="Findings by severity, tests by state.")
    packed = models.BinaryField(help_text="The findings and tests: JSON, compressed.")
    size = models.IntegerField(help_text="Bytes of the compressed details.")
    digest = models.CharField(max_length=64, blank=True)
    report_digest = models.CharField(max_length=64, help_text="sha256 of the report as it was sent.")

    received_at = models.DateTimeField()
    sent_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    token_id = models.BigIntegerField(null=True, blank=True)
    vendor = models.CharField(max_length=10, blank=True)
    issuer = models.CharField(max_length=200, blank=True)
    facts = models.JSONField(default=dict, blank=True)

    # By `policy.judge`: whether it is about the bytes of the release, and was sent by a run of its verified origin.
    matches: bool
    verified_origin: bool

    objects = ReportQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "namespace", "name", "sort_key", "check_name"],
                condition=Q(is_newest=True),
                name="checks_newest_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["kind", "namespace", "name", "sort_key", "check_name", "-received_at"], name="checks_history"
            ),
            models.Index(fields=["release", "state"], condition=Q(is_newest=True), name="checks_of_release"),
        ]

    def __str__(self) -> str:
        return f"{self.check_name} of {self.name} {self.version}"

    @cached_property
    def details(self) -> dict[str, list[dict[str, Any]]]:
        """`findings` and `runs`, each the fields of its class in `reading.shape`."""
        found: dict[str, list[dict[str, Any]]] = json.loads(zlib.decompress(bytes(self.packed)))
        return found

    @property
    def tone(self) -> str:
        return TONES[self.state]

    @property
    def line(self) -> str:
        """The counts in words: `2 high and 1 low findings`, `3 of 4 tests passed`, or its own summary."""
        *others, last = ["", *(f"{self.counts[name]:,} {name}" for name in SEVERITIES if self.counts.get(name))]
        if last:
            words = " and ".join(filter(None, (", ".join(others[1:]), last)))
            return f"{words} finding{'' if last == words and last.startswith('1 ') else 's'}"
        passed, failed, skipped = (self.counts.get(name, 0) for name in RUN_STATES)
        has_other_cause = self.state == FAILED and not failed and self.summary
        if (passed or failed or skipped) and not has_other_cause:
            more = f", {skipped:,} skipped" if skipped else ""
            return f"{passed:,} of {many(passed + failed, 'test')} passed{more}"
        return self.summary[:200] or ("No findings" if self.format == "sarif" else "No details")

    @property
    def is_old(self) -> bool:
        return timezone.now() - self.received_at > OLD


class Policy(models.Model):
    """The requirements of a namespace on its releases. `requirements` are those of `policy.Requirement`, as JSON."""

    namespace = models.OneToOneField("accounts.Namespace", models.CASCADE, related_name="+")
    mode = models.CharField(max_length=4, choices=Mode.choices, default=Mode.WARN)
    requirements = models.JSONField(default=list)
    mail_at = models.CharField(
        max_length=8,
        choices=_choices(SEVERITIES),
        blank=True,
        help_text="Owners are mailed about findings from here on.",
    )
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"checks of {self.namespace}"


class Hold(models.Model):
    """A release that waits for checks, or did. A waiver is for these very bytes."""

    release = models.OneToOneField("releases.Release", models.CASCADE, related_name="checks_hold")
    digest = models.CharField(max_length=64)
    missing = models.JSONField(default=list, help_text="Sentences: what is required and not there.")
    since = models.DateTimeField()
    until = models.DateTimeField()
    waived_at = models.DateTimeField(null=True, blank=True)
    waived_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    token_id = models.BigIntegerField(null=True, blank=True)
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        indexes = [models.Index(fields=["until"], condition=Q(waived_at=None), name="checks_waiting")]

    def __str__(self) -> str:
        return f"{self.release} waits for checks"
