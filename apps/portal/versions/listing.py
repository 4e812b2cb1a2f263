"""The list of all versions, with the reasons for yanked and removed ones; and what differs between two of them:
/modules/<address>/compare/1.2.0...2.0.0, and the same of providers.
"""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, F, OuterRef, Q, Subquery, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.accounts.identity.sessions import session_viewer
from apps.lib.errors import NotFound
from apps.portal.frame.page_urls import page_of, url_of
from apps.portal.frame.sections import sections_of
from apps.portal.versions.pages import VersionPages
from apps.releases.catalogue import marks
from apps.releases.catalogue.comparing import SEPARATOR, Comparison, Severity
from apps.releases.lifecycle import tombstones
from apps.releases.models import DownloadCount, Lifecycle, Release, State
from apps.releases.origin.models import verified

PAGE = 50
_YANKED = Q(lifecycle=Lifecycle.YANKED) | Q(state=State.PURGED)
SHOWS = {
    "all": ("All", Q()),
    "stable": ("Stable", ~_YANKED & Q(is_prerelease=False)),
    "pre-release": ("Pre-releases", ~_YANKED & Q(is_prerelease=True)),
    "yanked": ("Yanked and removed", _YANKED),
}


@login_not_required
@require_safe
def version_list(request: HttpRequest, *, pages: VersionPages, **names: str) -> HttpResponse:
    """Also for a name whose versions are all yanked or removed: no page is a dead end."""
    viewer, address = session_viewer(request), pages.address_type(**names)
    parent, role = pages.parent_and_role(viewer, address)
    # Published versions and tombstones; quarantined versions only for those who publish here, and staff.
    rows = Release.objects.filter(
        kind=pages.kind,
        namespace=parent.namespace,
        name=parent.address.path_name,
        state__in=[State.PUBLISHED, State.PURGED],
    ).annotate(is_prerelease=F(f"{pages.kind}_version__is_prerelease"))
    everything = (
        rows if tombstones.may_see(viewer, role) else rows.exclude(state=State.PUBLISHED, quarantined_at__isnull=False)
    )
    counts = everything.aggregate(
        **{show.replace("-", "_"): Count("pk", filter=only) for show, (_, only) in SHOWS.items()}
    )
    if not counts["all"]:
        raise NotFound(f"There is no {pages.kind} {address.path_name} in {address.namespace}.")
    show = request.GET.get("show", "all")
    show = show if show in SHOWS else "all"
    context: dict[str, Any] = {"show": show}
    context["shows"] = [(one, label, counts[one.replace("-", "_")]) for one, (label, _) in SHOWS.items()]
    # Highest first, with the fields of a row only: an inspection alone can be large.
    fetched = DownloadCount.objects.filter(release=OuterRef("pk")).values("release").annotate(total=Sum("count"))
    described = everything.filter(SHOWS[show][1]).annotate(
        downloads=Subquery(fetched.values("total")), is_verified=verified(), **pages.columns
    )
    context["page"] = page_of(
        described.select_related("created_by", "lifecycle_by", "quarantined_by").newest_first(), request, size=PAGE
    )
    said = marks.of(one.pk for one in context["page"].object_list if one.quarantined_at is None)
    for one in context["page"].object_list:
        one.marks = said.get(one.pk, ())
    frame = pages.frame_of_all(viewer, parent, role, "versions")
    default: Release | None = frame.get("release")
    if default is not None:
        is_listed = default.lifecycle != Lifecycle.YANKED and not default.is_held_back
        context["listed"] = default.version if is_listed else ""
        if "publish_url" in frame:
            context["publish_command"] = pages.publish_command(parent.address, frame["highest"])
    return render(request, f"portal/{pages.kind}/versions.html", {**frame, **context, **pages.beside_versions(parent)})


TITLES = {
    Severity.BREAKING: "Breaking",
    Severity.RISKY: "Risky",
    Severity.COMPATIBLE: "Compatible",
}


@login_not_required
@require_safe
def version_compare(request: HttpRequest, *, pages: VersionPages, numbers: str, **names: str) -> HttpResponse:
    viewer = session_viewer(request)
    found = pages.compare(viewer, pages.address_type(**names), numbers)
    context = context_of(found) | {"sections": sections_of("comparison", viewer, found)}
    return render(request, f"portal/{pages.kind}/compare.html", context)


def context_of(comparison: Comparison) -> dict[str, Any]:
    groups = [
        (
            severity,
            title,
            [(one, comparison.sentences[one.rule]) for one in comparison.changes if one.severity == severity],
        )
        for severity, title in TITLES.items()
    ]
    before, after = comparison.before.version, comparison.after.version
    return {
        "address": comparison.address,
        "found": comparison,
        "groups": [group for group in groups if group[2]],
        "before": before,
        "after": after,
        "numbers": f"{before}{SEPARATOR}{after}",
    }


@login_not_required
@require_safe
def version_compare_form(request: HttpRequest, *, pages: VersionPages, **names: str) -> HttpResponse:
    """The form of the list of versions leads to the page's own address."""
    numbers = [request.GET.get(which, "").strip()[:100] for which in ("from", "to")]
    if not all(numbers) or "/" in "".join(numbers):
        raise NotFound("A comparison needs two versions.", hint="Choose both.")
    return HttpResponseRedirect(url_of(pages.address_type(**names), "compare", SEPARATOR.join(numbers)))
