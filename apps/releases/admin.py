"""Admin pages of releases, download counts, search entries and rules of cleaning up."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from apps.accounts.access import gate
from apps.accounts.admin.actors import actor_of, each
from apps.accounts.admin.filters import by_person, in_namespace
from apps.accounts.identity.trusted import links
from apps.accounts.identity.trusted.vendors import VENDORS
from apps.accounts.models import User
from apps.admin_base import Act, Column, ReadOnlyAdmin, badge, digest_prefix, is_set, row_link
from apps.admin_base import size as shown_size
from apps.admin_base.base import address_condition
from apps.admin_base.display import moment
from apps.admin_base.filters import Filter
from apps.blobs import store
from apps.releases.admin_acts import reasoned
from apps.releases.catalogue import indexing
from apps.releases.cleanup_rules import CleanupRule
from apps.releases.lifecycle.actions import RESTORE
from apps.releases.models import DownloadCount, Release, SearchDoc, State
from apps.releases.origin.models import Origin, Way, joined


def in_quarantine(path: str) -> Filter:
    return is_set("quarantine", "quarantined", path, ("In quarantine", "Not in quarantine"))


def standing_badge(release: Release) -> str:
    """Show a quarantine, else the lifecycle; "-" for a release that is not published."""
    if release.quarantined_at is not None:
        return badge("quarantined")
    return badge(release.lifecycle) if release.state == State.PUBLISHED else "-"


def stored_now(release: Release) -> str:
    """Ask storage whether it has the bytes now."""
    if release.state != State.PUBLISHED:
        return "not published"
    try:
        size = store.size_of(release.digest)
    except store.StorageUnavailable:
        return "storage does not answer"
    if size is None:
        return "missing"
    return f"yes, {shown_size(size)}" if size == release.size else f"{size:,} bytes, expected {release.size:,}"


def _sentences(pairs: Any) -> str:
    lines = format_html_join("", "<li><code>{}</code> {}</li>", pairs)
    return format_html("<ul>{}</ul>", lines) if lines else "none"


# --- Where a release comes from and who approved it -------------------------------------------------------------------


def _way(release: Release) -> str:
    origin = joined(release, "origin")
    if origin is None:
        return "not recorded: an older Larder reserved it"
    label = f", token {origin.token_label}" if origin.token_label else ""
    vendor = f", {VENDORS[origin.vendor].label} ({origin.issuer})" if origin.vendor in VENDORS else ""
    return f"{origin.get_way_display()}{label}{vendor}, {'verified' if origin.is_verified else 'not verified'}"


def _facts(release: Release) -> str:
    origin = joined(release, "origin")
    if origin is None:
        return "none"
    vendor = VENDORS.get(origin.vendor)
    linked = links.of(vendor, origin.issuer, origin.claims) if vendor else {}
    return _listed(origin.facts, linked)


def _claims(release: Release) -> str:
    origin = joined(release, "origin")
    return _listed(origin.claims) if origin else "none"


def _others(release: Release) -> str:
    origin: Origin | None = joined(release, "origin")
    if origin is None or not origin.others:
        return "none"
    people = User.objects.in_bulk([one["by"] for one in origin.others if one["by"]])
    ways = dict(Way.choices)
    rows = (
        (people.get(one["by"], "a former user"), ways.get(one["way"], "not recorded"), one["token_label"], one["facts"])
        for one in origin.others
    )
    return format_html("<ul>{}</ul>", format_html_join("", "<li>{} {} {} {}</li>", rows))


def _approval(release: Release) -> str:
    approval = joined(release, "approval")
    if approval is None:
        return "none"
    if approval.decided_at is None:
        return format_html(
            "{} since {}, until {}", approval.decision, moment(approval.asked_at), moment(approval.until)
        )
    how = ", with a token" if approval.token_id else ", with a second factor" if approval.has_second_factor else ""
    reason = f": {approval.reason}" if approval.reason else ""
    who = approval.decided_by or "a former user"
    digest = approval.digest
    return format_html(
        "{} {} by {}{}{}; sha256:{}", approval.decision, moment(approval.decided_at), who, how, reason, digest
    )


def _listed(values: Mapping[str, Any], linked: Mapping[str, str] | None = None) -> str:
    def link(value: Any, url: str) -> str:
        return format_html('<a href="{}" rel="noopener noreferrer nofollow">{}</a>', url, value) if url else str(value)

    rows = [(name, link(value, (linked or {}).get(name, ""))) for name, value in values.items()]
    return format_html("<ul>{}</ul>", format_html_join("", "<li><code>{}</code> {}</li>", rows)) if rows else "none"


_ORIGIN = ("origin_way", "origin_facts", "origin_claims", "origin_others", "origin_approval")


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin[Release]):
    list_display = (
        "title",
        "state_badge",
        "standing",
        "page",
        "created_by",
        "created_at",
        "published_at",
        "size",
        "kind",
    )
    list_filter = (
        "state",
        "lifecycle",
        in_quarantine("quarantined_at"),
        in_namespace(),
        by_person("created_by__username", "publisher"),
        ("published_at", admin.DateFieldListFilter),
        "kind",
    )
    list_select_related = ("namespace", "created_by", "lifecycle_by", "quarantined_by")
    ordering = ("-created_at", "-pk")
    indexed_orders = ("published_at",)
    acts = {"restore": reasoned("restore", RESTORE, rows="releases")}
    search_help_text = (
        "An address (acme/vpc/aws) or its beginning, a version, the beginning of a stored or uploaded sha256."
    )
    fieldsets = (
        (None, {"fields": (("title", "kind", "state"), "why", ("created_by", "token_id"), "provenance")}),
        ("Origin", {"fields": _ORIGIN}),
        (
            "Lifecycle",
            {
                "fields": (
                    ("lifecycle", "lifecycle_at", "lifecycle_by"),
                    ("lifecycle_reason", "lifecycle_replacement"),
                    ("quarantined_at", "quarantined_by", "quarantine_reason"),
                )
            },
        ),
        (
            "Bytes",
            {"fields": (("digest", "size"), ("uploaded_digest", "uploaded_size", "file_name"), "in_storage")},
        ),
        (
            "Publishing",
            {
                "fields": (
                    ("folder", "asks", "held_until"),
                    ("asked", "confirmed", "breaking_reason"),
                    "notes",
                    ("created_at", "received_at", "checking_at", "checked_at", "signed_at"),
                    ("published_at", "finished_at", "receiving_until"),
                    ("public_id", "staging_key"),
                )
            },
        ),
    )
    readonly_fields = ("title", "why", "asked", "in_storage", *_ORIGIN)
    csv_columns = (
        "namespace__name",
        "name",
        "version",
        "kind",
        "state",
        "lifecycle",
        "lifecycle_reason",
        "lifecycle_replacement",
        "quarantined_at",
        "quarantine_reason",
        "digest",
        "size",
        "uploaded_digest",
        "uploaded_size",
        "created_by__username",
        "created_at",
        "published_at",
    )

    def search_condition(self, word: str) -> Q:
        if by_address := address_condition(word, "namespace__name", "name"):
            return by_address | Q(name=word)
        digest = digest_prefix(word)
        by_digest = Q(digest__begins=digest) | Q(uploaded_digest__begins=digest)
        return by_digest | Q(version=word) | Q(namespace__name=word) | Q(name__begins=word)

    def get_list_display(self, request: HttpRequest) -> Any:
        columns = super().get_list_display(request)
        return columns if _may_open(request) else [name for name in columns if name != "page"]

    def render_change_form(self, request: HttpRequest, context: Any, *rest: Any, **more: Any) -> HttpResponse:
        page = super().render_change_form(request, context, *rest, **more)
        assert isinstance(page, TemplateResponse)  # noqa: S101  # Django renders it later
        page.context_data = {**(page.context_data or {}), "has_absolute_url": _may_open(request)}
        return page

    def view_on_site(self, release: Release) -> str:
        return reverse("portal:release", args=[release.public_id])

    title = Column("release", str, order="namespace__name")
    state_badge = Column("state", lambda release: badge(release.state), order="state")
    standing = Column("lifecycle", standing_badge, order="lifecycle")

    why = Column("reasons", lambda release: _sentences((reason.code, reason.sentence) for reason in release.refusals()))
    asked = Column(
        "questions", lambda release: _sentences((question["code"], question["found"]) for question in release.questions)
    )
    in_storage = Column("in storage", stored_now)
    origin_way, origin_facts = Column("published by way of", _way), Column("facts", _facts)
    origin_claims, origin_others = Column("claims", _claims), Column("others that took part", _others)
    origin_approval = Column("approval", _approval)


def _may_open(request: HttpRequest) -> bool:
    """Return whether the viewer may open the portal's page, which is for publishers; auditors see everything here."""
    return gate.operates(actor_of(request))


@admin.register(DownloadCount)
class DownloadCountAdmin(ReadOnlyAdmin[DownloadCount]):
    """Downloads by day and client, never by person."""

    names = ("daily downloads", "daily downloads")
    list_display = ("day", "title", "client", "count")
    list_filter = (in_namespace("release__namespace"),)
    list_select_related = ("release__namespace",)
    date_hierarchy = "day"
    ordering = ("-day", "-pk")
    search_help_text = "An address (acme/vpc/aws) or its beginning, or a version."
    fields = ("day", "release_page", "client", "count")
    readonly_fields = ("release_page",)
    csv_columns = ("day", "release__namespace__name", "release__name", "release__version", "client", "count")

    def search_condition(self, word: str) -> Q:
        if by_address := address_condition(word, "release__namespace__name", "release__name"):
            return by_address
        return Q(release__namespace__name=word) | Q(release__name__begins=word) | Q(release__version=word)

    title = Column("release", lambda row: str(row.release), order="release__name")
    release_page = Column("release", lambda row: row_link(row.release))


@admin.register(SearchDoc)
class SearchDocAdmin(ReadOnlyAdmin[SearchDoc]):
    """Rows behind lists and searches. Verbs update them; rebuilding repairs them."""

    names = ("search entry", "search entries")
    list_display = ("title", "kind", "version", "lifecycle", "is_listed", "is_prerelease", "downloads", "published_at")
    list_filter = ("kind", "lifecycle", "is_listed", "is_prerelease", in_namespace())
    list_select_related = ("namespace", "release__namespace")
    date_hierarchy = "published_at"
    indexed_orders = ("published_at",)
    search_help_text = "An address (acme/vpc/aws, acme/cloud) or its beginning."
    fields = (
        ("namespace", "name", "kind"),
        "description",
        ("version", "default_release"),
        ("lifecycle", "is_listed", "is_prerelease"),
        ("downloads", "published_at"),
    )
    readonly_fields = ("default_release",)
    acts = {
        "rebuild": Act(
            "Rebuild selected search entries",
            "releases.rebuild_searchdoc",
            each(lambda doc, _actor: indexing.rebuild(doc), "Rebuilt"),
            button="Rebuild",
        )
    }
    csv_columns = (
        "namespace__name",
        "name",
        "kind",
        "version",
        "lifecycle",
        "is_listed",
        "is_prerelease",
        "downloads",
        "published_at",
        "description",
    )

    def search_condition(self, word: str) -> Q:
        if by_address := address_condition(word, "namespace__name", "name"):
            return by_address
        return Q(namespace__name=word) | Q(name__begins=word)

    title = Column("module or provider", str, order="namespace__name")
    default_release = Column("release", lambda doc: row_link(doc.release))


@admin.register(CleanupRule)
class CleanupRuleAdmin(ReadOnlyAdmin[CleanupRule]):
    """Owners change them on the page of their namespace."""

    list_display = ("namespace", "enabled", "action", "prerelease_days", "stable_days", "changed_at", "applied_at")
    list_filter = ("enabled", "action", in_namespace())
    list_select_related = ("namespace",)
    search_help_text = "The name of a namespace."
    fields = (
        ("namespace", "enabled", "action"),
        ("prerelease_days", "stable_days"),
        ("keep_newest", "fetched_days"),
        ("changed_at", "changed_by"),
        ("applied_at", "applied_count"),
    )

    csv_columns = (
        *("namespace__name", "enabled", "action", "prerelease_days", "stable_days", "keep_newest", "fetched_days"),
        *("changed_at", "applied_at", "applied_count"),
    )

    def search_condition(self, word: str) -> Q:
        return Q(namespace__name=word)
