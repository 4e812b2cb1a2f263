"""Routes of the pages that modules and providers share."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http.response import HttpResponseBase
from django.urls import URLPattern, path

from apps.portal.versions import downloads, lifecycle, listing, notifying, usage
from apps.portal.versions.pages import Contents, VersionPages, default_version, version_settings, version_tab
from apps.portal.versions.tabs import of_rooms


def routes(pages: VersionPages, tabs: Mapping[str, Contents]) -> list[URLPattern]:
    """First those of the name: a version has any word in its place. The tab `version` has no name in its URL."""

    def page(url: str, view: Callable[..., HttpResponseBase], name: str, **given: Any) -> URLPattern:
        return path(f"{pages.path}{url}", view, {"pages": pages, **given}, name=f"{pages.kind}{name}")

    more = {tab: contents for tab, contents in tabs.items() if tab != "version"}
    more |= {tab.page: room.resolved(tab.contents) for room, tab in of_rooms()}
    return [
        page("", default_version, "", contents=tabs["version"]),
        page("/settings", version_settings, "-settings"),
        page("/versions", listing.version_list, "-versions"),
        page("/usage", usage.version_usage, "-users"),
        page("/usage/notify", notifying.notify_users, "-notify"),
        page("/downloads", downloads.version_downloads, "-downloads"),
        page("/outdated", downloads.outdated_users, "-outdated"),
        page("/compare", listing.version_compare_form, "-compare-form"),
        page("/compare/<str:numbers>", listing.version_compare, "-compare"),
        page("/<str:version>", version_tab, "-version", tab="version", contents=tabs["version"]),
        *(page(f"/<str:version>/{tab}", version_tab, f"-{tab}", tab=tab, contents=more[tab]) for tab in more),
        page("/<str:version>/lifecycle", lifecycle.version_lifecycle, "-lifecycle"),
        page("/<str:version>/lifecycle/purge", lifecycle.version_purge, "-purge"),
    ]
