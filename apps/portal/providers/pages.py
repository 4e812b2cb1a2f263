"""The pages of one provider version: overview, platforms and verification. For its documentation see docs.py."""

from typing import Any

from django.http import HttpRequest

from apps.portal.lifecycle import pages as lifecycle
from apps.portal.providers import files
from apps.portal.providers.frame import PROVIDERS
from apps.portal.snippets import provider_snippets
from apps.portal.versions import badges, compare, downloads, feeds, graph, listing, outdated, pages
from apps.portal.versions.downloads import downloads_card
from apps.portal.versions.pages import Contents, Opened
from apps.portal.versions.refusing import refusing
from apps.providers.documents import sums_name
from apps.providers.models import Package, ProviderVersion

# The most common first; others follow by name.
SYSTEMS = ("linux", "darwin", "windows")


def _overview(_request: HttpRequest, opened: Opened, context: dict[str, Any]) -> None:
    context |= {"refusing": refusing(opened), "card": downloads_card(opened.shown.provider)}
    context["usages"] = provider_snippets.usages(context["address"], opened.shown.release.version)


def _platforms(_request: HttpRequest, opened: Opened, context: dict[str, Any]) -> None:
    """The matrix of systems and processors, gaps included, and every package with its size and both hashes."""
    context |= _matrix(opened.shown)


def _verify(_request: HttpRequest, opened: Opened, context: dict[str, Any]) -> None:
    shown: ProviderVersion = opened.shown
    name, packages = sums_name(shown.provider.type, shown.release.version), shown.packages.all()
    context["sums_name"] = name
    if shown.release.quarantined_at is not None:  # quarantined versions give out nothing
        return
    sums = context["sums"] = files.sums_of(shown)
    listed = files.digests_in(sums) or [package.digest for package in packages]
    context["lock"] = provider_snippets.lock_block(
        context["address"],
        shown.release.version,
        h1=[package.h1 for package in packages],
        zh=[f"zh:{digest}" for digest in listed],
    )
    context["commands"] = provider_snippets.verify_commands(name, shown.key.key_id)


def _matrix(shown: ProviderVersion) -> dict[str, Any]:
    by_platform = {(one.os, one.arch): one for one in shown.packages.all()}
    known = {name: place for place, name in enumerate(SYSTEMS)}
    systems = sorted({os for os, _ in by_platform}, key=lambda os: (known.get(os, len(known)), os))
    arches = sorted({arch for _, arch in by_platform}, key=lambda arch: (arch not in ("amd64", "arm64"), arch))
    cells: list[tuple[str, list[tuple[str, Package | None]]]] = [
        (os, [(arch, by_platform.get((os, arch))) for arch in arches]) for os in systems
    ]
    return {"arches": arches, "matrix": cells}


_TABS: dict[str, Contents] = {"version": _overview, "platforms": _platforms, "verify": _verify}

urlpatterns = [
    listing.route(PROVIDERS),
    graph.route(PROVIDERS),
    downloads.route(PROVIDERS),
    outdated.route(PROVIDERS),
    *compare.routes(PROVIDERS),
    *badges.routes(PROVIDERS),
    *feeds.routes(PROVIDERS),
    *pages.routes(PROVIDERS, _TABS),
    *files.urlpatterns,
    *lifecycle.provider_urlpatterns,
]
