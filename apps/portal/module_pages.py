"""The pages of one module: a version (the newest where none is named), and the way to the archive."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts import access
from apps.accounts.access import Viewer
from apps.accounts.authentication import session_viewer
from apps.accounts.models import Role, Visibility
from apps.blobs import capabilities
from apps.lib.addresses import ModuleAddress
from apps.modules.documents import archive_name
from apps.modules.models import Module, ModuleVersion
from apps.modules.reading import module_for, published_release, version_for
from apps.portal import lifecycle, module_versions, snippets

SWITCHER = 10
FILES = 200


@login_not_required
@require_safe
def module(request: HttpRequest, namespace: str, name: str, system: str) -> HttpResponse:
    """The default version: the highest stable one, else the highest pre-release."""
    viewer, address = session_viewer(request), ModuleAddress(namespace, name, system)
    found = module_for(viewer, address)
    newest = _default_first(found).select_related("module__namespace", "release__created_by").first()
    if newest is None:  # all are removed: that page says so
        return HttpResponseRedirect(reverse("portal:module-versions", args=[namespace, name, system]))
    return _version_page(request, viewer, newest)


@login_not_required
@require_safe
def module_version(request: HttpRequest, namespace: str, name: str, system: str, version: str) -> HttpResponse:
    viewer, address = session_viewer(request), ModuleAddress(namespace, name, system)
    return _version_page(request, viewer, version_for(viewer, address, version, even_quarantined=True))


def _version_page(request: HttpRequest, viewer: Viewer, shown: ModuleVersion) -> HttpResponse:
    address, release = shown.module.address, shown.release
    others = _all_of(shown.module)
    latest = _default_first(shown.module).values_list("release__version", flat=True).first() or release.version
    role = access.role_on(viewer, shown.module.namespace) if viewer.is_identified else None
    context: dict[str, Any] = {"address": address, "shown": shown, "release": release, "role": role}
    context |= {"namespace": shown.module.namespace, "latest": latest, "is_latest": latest == release.version}
    context |= {"versions": others[:SWITCHER], "version_count": others.count()}
    context |= {"files": shown.files[:FILES], "file_count": len(shown.files)}
    context["usage"] = snippets.module_block(address, release.version)
    context["needs_credentials"] = shown.module.namespace.visibility != Visibility.PUBLIC
    context["credentials"] = snippets.credentials_block()
    if role is not None and role.covers(Role.PUBLISHER):
        highest = others.values_list("release__version", flat=True).first() or release.version
        context["publish_command"] = snippets.publish_command(address, highest)
    return render(request, "portal/module/version.html", context)


@login_not_required
@require_safe
def module_archive(request: HttpRequest, namespace: str, name: str, system: str, version: str) -> HttpResponse:
    """To the archive. A page may stay open for longer than a capability URL lives, so its link leads here (D6)."""
    release = published_release(session_viewer(request), ModuleAddress(namespace, name, system), version)
    digest, file_name = release.digest, archive_name(release.name, release.version)
    if release.namespace.visibility == Visibility.PUBLIC:
        return HttpResponseRedirect(reverse("protocol:archive", args=[digest, file_name]))
    capability = capabilities.sign(digest=digest, file_name=file_name, now=timezone.now())
    url = reverse("protocol:archive-capability", args=[capability, digest, file_name])
    return HttpResponseRedirect(url, headers={"Cache-Control": "no-store"})


def _all_of(module: Module) -> QuerySet[ModuleVersion]:
    """Highest first, without the README and the list of files: lists show neither, and both can be large."""
    rows = ModuleVersion.objects.filter(module=module).published().select_related("release").newest_first()
    return rows.defer("readme_html", "files")


def _default_first(module: Module) -> QuerySet[ModuleVersion]:
    return ModuleVersion.objects.filter(module=module).published().default_first()


_MODULE = "modules/<str:namespace>/<str:name>/<str:system>"

urlpatterns = [
    path(_MODULE, module, name="module"),
    *module_versions.urlpatterns,  # before any version: it is no number
    path(f"{_MODULE}/<str:version>", module_version, name="module-version"),
    path(f"{_MODULE}/<str:version>/archive", module_archive, name="module-archive"),
    *lifecycle.urlpatterns,
]
