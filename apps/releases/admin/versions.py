"""Shared by the admin pages of module and provider versions: lifecycle actions, and facts about the release."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from apps.accounts.admin.actors import actor_of
from apps.accounts.admin.filters import PersonFilter
from apps.admin_base import ReadOnlyAdmin, SetFilter, badge, link, moment, portal_link
from apps.releases.admin import acts
from apps.releases.admin.releases import standing_badge
from apps.releases.lifecycle import actions as permissions
from apps.releases.models import Lifecycle


class PublisherFilter(PersonFilter):
    title = "publisher"
    path = "release__created_by__username"


class QuarantineFilter(SetFilter):
    title = "quarantine"
    parameter_name = "quarantined"
    path = "release__quarantined_at"
    words = ("In quarantine", "Not in quarantine")


class VerifiedFilter(admin.SimpleListFilter):
    title = "stored bytes"
    parameter_name = "verified"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("unsound", "Not as published")]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        # The condition of the partial index: few are not sound.
        return queryset.exclude(release__verified_as__in=["", "sound"]) if self.value() == "unsound" else queryset


class VersionAdmin(ReadOnlyAdmin[Any], acts.VersionPages):
    """Published artefacts: looked at here, never changed (D5). What is said of them is, by the usual verbs.

    Each action asks for a reason on its own page; verifying only queues.
    """

    actions = ["deprecate", "yank", "quarantine", "restore", "purge", "verify"]
    page_actions = {
        "deprecate": "Deprecate…",
        "yank": "Yank…",
        "quarantine": "Put into quarantine…",
        "restore": "Restore…",
        "purge": "Purge…",
        "verify": "Verify the stored bytes",
    }

    def is_offered(self, action: str, row: Any) -> bool:
        release = row.release
        match action:
            case "deprecate":
                return release.quarantined_at is None and release.lifecycle == Lifecycle.MAINTAINED
            case "yank":
                return release.quarantined_at is None and release.lifecycle != Lifecycle.YANKED
            case "quarantine":
                return release.quarantined_at is None
            case "restore":
                return release.quarantined_at is not None or release.lifecycle != Lifecycle.MAINTAINED
        return True

    def view_on_site(self, row: Any) -> str:
        raise NotImplementedError

    def has_deprecate_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.DEPRECATE)

    def has_yank_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.YANK)

    def has_quarantine_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.QUARANTINE)

    def has_restore_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.RESTORE)

    def has_purge_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.PURGE)

    def has_verify_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.VERIFY)

    @admin.action(permissions=["deprecate"], description="Deprecate selected versions…")
    def deprecate(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        return acts.carry_out(self, request, queryset, acts.DEPRECATE)

    @admin.action(permissions=["yank"], description="Yank selected versions…")
    def yank(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        return acts.carry_out(self, request, queryset, acts.YANK)

    @admin.action(permissions=["quarantine"], description="Put selected versions into quarantine…")
    def quarantine(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        return acts.carry_out(self, request, queryset, acts.QUARANTINE)

    @admin.action(permissions=["restore"], description="Restore selected versions…")
    def restore(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        return acts.carry_out(self, request, queryset, acts.RESTORE)

    @admin.action(permissions=["purge"], description="Purge the selected version…")
    def purge(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        return acts.carry_out(self, request, queryset, acts.PURGE)

    @admin.action(permissions=["verify"], description="Verify the stored bytes of selected versions")
    def verify(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        viewer = actor_of(request)

        def do(row: Any) -> None:
            address = self.lifecycle.address_of(row.release)
            self.lifecycle.verify(viewer=viewer, address=address, version=row.release.version)

        self.apply_verb(request, queryset, do, done="Queued")

    # --- What is shown ------------------------------------------------------------------------------------------------

    @admin.display(description="version", ordering="release__namespace__name")
    def title(self, row: Any) -> str:
        return str(row.release)

    @admin.display(description="lifecycle", ordering="release__lifecycle")
    def standing(self, row: Any) -> str:
        """Show quarantine or lifecycle, and what the last verification found wrong."""
        unsound = badge(row.release.verified_as) if row.release.verified_findings else ""
        return format_html("{} {}", standing_badge(row.release), unsound)

    @admin.display(description="published", ordering="release__published_at")
    def published(self, row: Any) -> Any:
        return moment(row.release.published_at)

    @admin.display(description="by", ordering="release__created_by__username")
    def by(self, row: Any) -> str:
        return str(row.release.created_by or "-")

    @admin.display(description="page")
    def page(self, row: Any) -> str:
        return portal_link(self.view_on_site(row), row.release)

    @admin.display(description="release")
    def release_page(self, row: Any) -> str:
        return link(reverse("admin:releases_release_change", args=[row.release_id]), row.release)

    @admin.display(description="reason")
    def why(self, row: Any) -> str:
        return row.release.quarantine_reason or row.release.lifecycle_reason or "-"

    @admin.display(description="replacement")
    def instead(self, row: Any) -> str:
        return row.release.lifecycle_replacement or "-"

    @admin.display(description="verified")
    def verified(self, row: Any) -> str:
        """Show the result of the last verification and each file that failed it."""
        release = row.release
        if release.verified_at is None:
            return "not since it was published"
        lines = format_html_join(
            "",
            "<li>{} is {}: {} instead of sha256:{}</li>",
            ((one["name"], one["outcome"], one["found"], one["digest"]) for one in release.verified_findings),
        )
        return format_html("{} {}<ul>{}</ul>", badge(release.verified_as), moment(release.verified_at), lines)
