"""The files of two versions line by line: /modules/<address>/compare/1.2.0...2.0.0/files."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from apps.accounts.identity.authentication import session_viewer
from apps.lib.addresses import ModuleAddress
from apps.modules.comparing import versions
from apps.portal.modules.frame import MODULES
from apps.portal.versions.compare import context_of
from apps.releases.lifecycle import quarantine


@login_not_required
@require_safe
def module_compare_files(request: HttpRequest, namespace: str, name: str, system: str, numbers: str) -> HttpResponse:
    """Apart from the comparison itself, which needs no storage."""
    found = versions.compare(session_viewer(request), ModuleAddress(namespace, name, system), numbers)
    for version in found.versions:
        quarantine.refuse_blocked(version.release)
    context = context_of(found) | {"texts": versions.differences(found), "numbers": numbers}
    return render(request, "portal/module/compare_files.html", context)


urlpatterns = [
    path(f"{MODULES.path}/compare/<str:numbers>/files", module_compare_files, name="module-compare-files"),
]
