"""What differs between two versions: /modules/<address>/compare/1.2.0...2.0.0, and the same of providers."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.accounts.identity.sessions import session_viewer
from apps.lib.errors import NotFound
from apps.portal.frame.page_urls import url_of
from apps.portal.versions.pages import VersionPages
from apps.releases.catalogue.comparing import SEPARATOR, Comparison, Severity

TITLES = {
    Severity.BREAKING: "Breaking",
    Severity.RISKY: "Risky",
    Severity.COMPATIBLE: "Compatible",
}


@login_not_required
@require_safe
def version_compare(request: HttpRequest, *, pages: VersionPages, numbers: str, **names: str) -> HttpResponse:
    found = pages.compare(session_viewer(request), pages.address_type(**names), numbers)
    return render(request, f"portal/{pages.kind}/compare.html", context_of(found))


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
        raise NotFound("Two versions are compared.", hint="Choose both.")
    return HttpResponseRedirect(url_of(pages.address_type(**names), "compare", SEPARATOR.join(numbers)))
