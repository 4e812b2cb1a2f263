from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from apps.accounts.access import gate
from apps.accounts.admin.actors import actor_of
from apps.accounts.admin.filters import by_person, in_namespace
from apps.admin_base import Column, ReadOnlyAdmin, badge, digest_prefix, is_set, short
from apps.admin_base import size as shown_size
from apps.admin_base.base import address_condition
from apps.admin_base.filters import Filter
from apps.blobs import store
from apps.releases.models import Release, State


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
        "stored",
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
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
    indexed_orders = ("published_at", "digest")
    search_fields = ("name", "version", "digest", "uploaded_digest")
    search_help_text = (
        "An address (acme/vpc/aws) or its beginning, a version, the beginning of a stored or uploaded sha256."
    )
    fieldsets = (
        (None, {"fields": (("title", "kind", "state"), "why", ("created_by", "token_id"), "provenance")}),
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
    readonly_fields = ("title", "why", "asked", "in_storage")
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
    stored = Column("stored sha256", lambda release: short(release.digest), order="digest")

    why = Column("reasons", lambda release: _sentences((reason.code, reason.sentence) for reason in release.refusals()))
    asked = Column(
        "questions", lambda release: _sentences((question["code"], question["found"]) for question in release.questions)
    )
    in_storage = Column("in storage", stored_now)


def _may_open(request: HttpRequest) -> bool:
    """Tell whether the viewer may open the portal's page, which is for publishers; auditors see everything here."""
    return gate.operates(actor_of(request))
