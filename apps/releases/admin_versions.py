"""Shared by the admin pages of module and provider versions: lifecycle actions, and facts about the release."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from apps.accounts.admin.actors import actor_of
from apps.accounts.admin.filters import by_person, in_namespace
from apps.admin_base import Act, Column, ReadOnlyAdmin, badge, link, moment, one_of, row_link, table
from apps.releases.admin import in_quarantine, standing_badge
from apps.releases.admin_acts import reasoned
from apps.releases.lifecycle import actions as permissions
from apps.releases.lifecycle import verbs
from apps.releases.lifecycle.actions import VersionActions
from apps.releases.lifecycle.verification import Outcome

PublisherFilter = by_person("release__created_by__username", "publisher")
QuarantineFilter = in_quarantine("release__quarantined_at")
VERSIONS_SHOWN = 20
# The acts of each row look at its lifecycle, and name who changed it.
RELEASE_AND_PEOPLE = tuple(f"release__{name}" for name in ("namespace", "created_by", "lifecycle_by", "quarantined_by"))
UNSOUND = [str(outcome) for outcome in Outcome if outcome is not Outcome.SOUND]
VerifiedFilter = one_of(
    "stored bytes",
    "verified",
    # The condition of the partial index: few are not sound. PostgreSQL expects so few only where it reads the values.
    {
        "unsound": (
            "Not as published",
            lambda rows: rows.exclude(release__verified_as__in=["", "sound"]).filter(release__verified_as__in=UNSOUND),
        )
    },
)


def _purge(admin: Any, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
    rows = list(queryset[:2])
    if len(rows) != 1:
        admin.message_user(request, "Select exactly one version to purge.", messages.ERROR)
        return None
    listed = reverse(f"admin:{admin.opts.app_label}_{admin.opts.model_name}_changelist")
    return HttpResponseRedirect(f"{admin.view_on_site(rows[0])}/lifecycle/purge?{urlencode({'next': listed})}")


def _verify(admin: "VersionAdmin", request: HttpRequest, queryset: QuerySet[Any]) -> None:
    viewer, lifecycle = actor_of(request), admin.lifecycle

    def do(row: Any) -> None:
        lifecycle.verify(viewer=viewer, address=lifecycle.address_of(row.release), version=row.release.version)

    admin.apply_verb(request, queryset, do, done="Queued")


class NamedAdmin(ReadOnlyAdmin[Any]):
    """Modules or providers, each with its newest versions."""

    list_filter = ("namespace__visibility", in_namespace())
    list_select_related = ("namespace",)
    indexed_orders = ("created_at",)
    version_columns: Mapping[str, Callable[[Any], object]]  # by their titles

    latest = Column("latest", lambda row: row.latest or "-", order="latest")
    versions = Column("versions", "version_count", order="version_count")

    def newest_versions(self, named: Any) -> QuerySet[Any]:
        raise NotImplementedError

    @admin.display(description="versions")
    def newest(self, named: Any) -> str:
        """The newest versions as a separate table: an inline would load every version to show twenty."""
        rows = self.newest_versions(named)
        pages = f"admin:{self.opts.app_label}_{rows.model.__name__.lower()}"
        lines = []
        for row in rows[:VERSIONS_SHOWN]:
            page = link(reverse(f"{pages}_change", args=[row.pk]), row.release.version)
            lines.append([page, *(column(row) for column in self.version_columns.values())])
        listed = reverse(f"{pages}_changelist", query={"q": str(named)})
        shown = table(["Version", *self.version_columns], lines)
        return format_html("{}<p>{}</p>", shown, link(listed, f"All {named.version_count} versions"))


class VersionAdmin(ReadOnlyAdmin[Any]):
    """Published versions, read-only (D5). Actions that need a reason lead to the portal's pages."""

    date_hierarchy = "release__published_at"
    indexed_orders = ("release__published_at",)
    list_select_related = RELEASE_AND_PEOPLE
    lifecycle: VersionActions[Any]
    acts = {
        "deprecate": reasoned("deprecate", permissions.DEPRECATE),
        "yank": reasoned("yank", permissions.YANK),
        "quarantine": reasoned("quarantine", permissions.QUARANTINE),
        "restore": reasoned("restore", permissions.RESTORE),
        "purge": Act(
            "Purge the selected version…",
            permissions.PURGE,
            _purge,
            button="Purge…",
            offered=lambda row: verbs.obstacle_to("purge", row.release) is None,
        ),
        "verify": Act(
            "Verify the stored bytes of selected versions",
            permissions.VERIFY,
            _verify,
            button="Verify the stored bytes",
        ),
    }

    def view_on_site(self, row: Any) -> str:
        raise NotImplementedError

    # --- What is shown ------------------------------------------------------------------------------------------------

    title = Column("version", lambda row: str(row.release), order="release__namespace__name")

    @admin.display(description="lifecycle", ordering="release__lifecycle")
    def standing(self, row: Any) -> str:
        """Show quarantine or lifecycle, and what the last verification found wrong."""
        unsound = badge(row.release.verified_as) if row.release.verified_findings else ""
        return format_html("{} {}", standing_badge(row.release), unsound)

    published = Column("published", lambda row: moment(row.release.published_at), order="release__published_at")
    by = Column("by", lambda row: str(row.release.created_by or "-"), order="release__created_by__username")

    release_page = Column("release", lambda row: row_link(row.release))
    why = Column("reason", lambda row: row.release.quarantine_reason or row.release.lifecycle_reason or "-")
    instead = Column("replacement", lambda row: row.release.lifecycle_replacement or "-")

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
