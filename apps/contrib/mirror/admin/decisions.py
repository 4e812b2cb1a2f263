"""Admin pages of what staff decide about mirrored registries, and of syncs."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html

from apps.admin_base import Column, ReadOnlyAdmin, badge, count_of, moment, one_of, row_link, size, table, words
from apps.contrib.mirror.admin import actions
from apps.contrib.mirror.models import (
    Alarm,
    KeyPin,
    PolicyException,
    PolicyRule,
    Schedule,
    SyncRun,
    UnsignedAllowance,
    Upstream,
    UpstreamVersion,
)


def of_host(path: str | Callable[[str], Q] = "upstream__host") -> Any:
    """A filter by the registry; `path` is the ORM path to its host, or returns the condition."""
    return words("registry", "host", path, lambda: Upstream.objects.order_by("host").values_list("host", flat=True))


@admin.register(KeyPin)
class KeyPinAdmin(ReadOnlyAdmin[KeyPin]):
    names = ("pinned key", "pinned keys")
    list_display = ("title", "about", "state_badge", "versions_signed", "first_seen_at", "decided_at")
    list_filter = ("state", of_host())
    list_select_related = ("upstream", "provider__upstream", "decided_by")
    search_help_text = "A namespace, or the beginning or the end (key id) of a fingerprint."
    fields = (
        ("about", "state_badge"),
        ("fingerprint", "source"),
        ("first_seen_at", "versions_signed"),
        ("decided_at", "decided_by"),
        "reason",
        "others",
        "public_key",
    )
    acts = actions.OF_KEYS
    csv_columns = (
        "upstream__host",
        "namespace",
        "provider__type",
        "fingerprint",
        "state",
        "source",
        "first_seen_at",
        "decided_at",
        "reason",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[KeyPin]:
        signed = UpstreamVersion.objects.filter(key=OuterRef("pk"))
        return super().get_queryset(request).annotate(version_count=count_of(signed, "key"))

    def search_condition(self, word: str) -> Q:
        digits = word.removeprefix("0x").upper()
        return Q(fingerprint__begins=digits) | Q(fingerprint__endswith=digits) | Q(namespace=word.lower())

    title = Column("key", "fingerprint", order="fingerprint")
    about = Column("provider", "about", order="namespace")
    state_badge = Column("state", lambda row: badge(row.state), order="state")
    versions_signed = Column("versions signed", "version_count", order="version_count")
    others = Column("also trusted", actions.trusted_beside)
    public_key = Column("public key", lambda row: format_html("<pre>{}</pre>", row.armor))


@admin.register(UnsignedAllowance)
class UnsignedAllowanceAdmin(ReadOnlyAdmin[UnsignedAllowance]):
    names = ("namespace allowed by staff", "namespaces allowed by staff")
    list_display = ("title", "allows", "reason", "created_by", "created_at")
    list_filter = (of_host(), "allows")
    list_select_related = ("upstream", "created_by")
    fields = (("upstream", "namespace", "allows"), "reason", ("created_by", "created_at"))
    acts = actions.OF_ALLOWANCES
    csv_columns = ("upstream__host", "namespace", "allows", "reason", "created_by__username", "created_at")

    title = Column("namespace", str, order="namespace")


@admin.register(PolicyRule)
class PolicyRuleAdmin(ReadOnlyAdmin[PolicyRule]):
    names = ("mirror rule", "mirror rules")
    list_display = ("title", "upstream", "effect", "days", "versions", "advisories_only", "reason")
    list_filter = (of_host(), "effect")
    list_select_related = ("upstream", "created_by")
    ordering = ("upstream", "position", "pk")
    fields = (
        ("upstream", "position"),
        ("pattern", "effect", "days"),
        ("versions", "platforms", "advisories_only"),
        "reason",
        ("created_by", "created_at"),
    )
    csv_columns = ("upstream__host", "position", "pattern", "effect", "days", "versions", "advisories_only", "reason")

    title = Column("rule", str, order="position")


@admin.register(PolicyException)
class PolicyExceptionAdmin(ReadOnlyAdmin[PolicyException]):
    names = ("mirror exception", "mirror exceptions")
    list_display = ("title", "reason", "expires_at", "withdrawn_at", "created_by")
    list_filter = (
        of_host(lambda host: Q(version__provider__upstream__host=host) | Q(upstream__host=host)),
        one_of(
            "state",
            "state",
            {
                "holds": ("In force", lambda rows: rows.filter(withdrawn_at=None, expires_at__gt=timezone.now())),
                "over": ("Over", lambda rows: rows.exclude(withdrawn_at=None, expires_at__gt=timezone.now())),
            },
        ),
    )
    list_select_related = ("version__provider__upstream", "upstream", "created_by")
    fields = ("version_page", "reason", ("expires_at", "withdrawn_at"), ("created_by", "created_at"))
    acts = actions.OF_EXCEPTIONS
    csv_columns = (
        "version__provider__upstream__host",
        "version__provider__namespace",
        "version__provider__type",
        "version__version",
        "upstream__host",
        "module",
        "module_version",
        "reason",
        "expires_at",
        "withdrawn_at",
        "created_by__username",
    )

    title = Column("version", lambda row: row.about)
    version_page = Column("version", lambda row: row_link(row.version) if row.version else row.about)


@admin.register(Alarm)
class AlarmAdmin(ReadOnlyAdmin[Alarm]):
    names = ("mirror alarm", "mirror alarms")
    list_display = ("title", "kind", "state_badge", "raised_at", "seen_at", "times", "resolved_by")
    list_filter = ("state", "kind", of_host())
    list_select_related = ("upstream", "resolved_by", "provider__upstream", "version__provider__upstream")
    search_help_text = "A namespace, or the beginning of what the alarm is about (host/namespace/type)."
    fields = (
        ("kind", "state_badge"),
        ("upstream", "subject"),
        "both",
        "url",
        ("raised_at", "seen_at", "times"),
        ("resolved_at", "resolved_by"),
        "reason",
    )
    acts = actions.OF_ALARMS
    csv_columns = (
        "upstream__host",
        "kind",
        "subject",
        "state",
        "raised_at",
        "seen_at",
        "times",
        "resolved_at",
        "reason",
    )

    def search_condition(self, word: str) -> Q:
        return Q(namespace=word.lower()) | Q(subject__begins=word)

    title = Column("about", "subject")
    state_badge = Column("state", lambda row: badge(row.state), order="state")

    @admin.display(description="what was found")
    def both(self, row: Alarm) -> str:
        """Both sides, a line for each of their fields."""
        names = dict.fromkeys([*row.known, *row.found])
        return table(
            ["", "Known", "Found"], [[name, row.known.get(name, "-"), row.found.get(name, "-")] for name in names]
        )


@admin.register(SyncRun)
class SyncRunAdmin(ReadOnlyAdmin[SyncRun]):
    names = ("mirror sync", "mirror syncs")
    list_display = ("title", "state_badge", "progress", "created_by", "created_at", "ended_at")
    list_filter = ("state",)
    list_select_related = ("created_by", "schedule")
    fields = (
        ("title", "state_badge"),
        "request",
        "progress",
        "problems",
        "schedule",
        ("created_by", "created_at", "ended_at"),
    )
    csv_columns = (
        "pk",
        "state",
        "planned",
        "planned_bytes",
        "done",
        "done_bytes",
        "created_by__username",
        "created_at",
        "ended_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[SyncRun]:
        return super().get_queryset(request).defer("plan")

    title = Column("sync", str)
    state_badge = Column("state", lambda row: badge(row.state), order="state")
    progress = Column(
        "progress",
        lambda row: f"{row.done} of {row.planned} packages, {size(row.done_bytes)} of {size(row.planned_bytes)}",
    )


@admin.register(Schedule)
class ScheduleAdmin(ReadOnlyAdmin[Schedule]):
    names = ("mirror schedule", "mirror schedules")
    list_display = ("title", "is_enabled", "next", "created_by")
    list_filter = ("is_enabled",)
    list_select_related = ("created_by",)
    fields = ("request", ("every_hours", "is_enabled", "next_at"), ("created_by", "created_at"))
    csv_columns = ("pk", "every_hours", "is_enabled", "next_at", "created_by__username", "created_at")

    title = Column("schedule", str, order="every_hours")
    next = Column("next", lambda row: moment(row.next_at), order="next_at")
