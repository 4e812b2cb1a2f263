"""/modules/<ns>/<name>/<system>/versions: every version, with the reasons for yanked and removed ones."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, F, OuterRef, Q, Subquery, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from apps.accounts.access import gate, operators
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.authentication import session_viewer
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import NotFound
from apps.modules.catalogue.reading import module_for
from apps.modules.models import Module, ModuleVersion
from apps.portal.frame.paging import page_of
from apps.portal.modules.attachments import tags_of
from apps.releases.models import DownloadCount, Kind, Lifecycle, Release, ReleaseQuerySet, State

PAGE = 50
_YANKED = Q(lifecycle=Lifecycle.YANKED) | Q(state=State.PURGED)
SHOWS = {
    "all": Q(),
    "stable": ~_YANKED & Q(module_version__is_prerelease=False),
    "pre-release": ~_YANKED & Q(module_version__is_prerelease=True),
    "yanked": _YANKED,
}
LABELS = {"all": "All", "stable": "Stable", "pre-release": "Pre-releases", "yanked": "Yanked and removed"}


@login_not_required
@require_safe
def module_versions(request: HttpRequest, namespace: str, name: str, system: str) -> HttpResponse:
    """Also for a module whose versions are all yanked or removed: no page is a dead end."""
    viewer, address = session_viewer(request), ModuleAddress(namespace, name, system)
    module = module_for(viewer, address)
    everything = _visible(viewer, module)
    counts = everything.aggregate(**{_key(show): Count("pk", filter=only) for show, only in SHOWS.items()})
    if not counts["all"]:
        raise NotFound(f"There is no module {address.path_name} in {namespace}.")
    show = request.GET.get("show", "all")
    show = show if show in SHOWS else "all"
    context: dict[str, Any] = {"module": module, "address": address, "namespace": module.namespace, "show": show}
    context["shows"] = [(one, LABELS[one], counts[_key(one)]) for one in SHOWS]
    context["page"] = page_of(_described(everything.filter(SHOWS[show])), request, size=PAGE)
    context["latest"] = _latest(module)
    context["role"] = gate.role_on(viewer, module.namespace) if viewer.is_identified else None
    context |= tags_of(module)
    return render(request, "portal/module/versions.html", context)


def _visible(viewer: Viewer, module: Module) -> ReleaseQuerySet:
    """Published versions and tombstones; quarantined versions only for staff."""
    rows = Release.objects.filter(
        kind=Kind.MODULE,
        namespace=module.namespace,
        name=module.address.path_name,
        state__in=[State.PUBLISHED, State.PURGED],
    )
    return rows if operators.is_operator(viewer) else rows.exclude(state=State.PUBLISHED, quarantined_at__isnull=False)


def _described(rows: ReleaseQuerySet) -> ReleaseQuerySet:
    """Highest first, with the fields of a row only: an inspection alone can be large."""
    fetched = DownloadCount.objects.filter(release=OuterRef("pk")).values("release").annotate(total=Sum("count"))
    return (
        rows.annotate(
            downloads=Subquery(fetched.values("total")),
            is_prerelease=F("module_version__is_prerelease"),
            required=F("module_version__inspection__units__0__required_version"),
        )
        .select_related("created_by", "lifecycle_by", "quarantined_by")
        .newest_first()
    )


def _latest(module: Module) -> str:
    rows = ModuleVersion.objects.filter(module=module).listed().default_first()
    return rows.values_list("release__version", flat=True).first() or ""


def _key(show: str) -> str:
    return show.replace("-", "_")


urlpatterns = [
    path("modules/<str:namespace>/<str:name>/<str:system>/versions", module_versions, name="module-versions"),
]
