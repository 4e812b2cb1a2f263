"""The pages of one module version: each tab has its own URL. For its files see files.py."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import Role, Visibility
from apps.blobs import capabilities
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import NotFound
from apps.modules.catalogue.documents import archive_name
from apps.modules.catalogue.reading import module_for, published_release, version_for
from apps.modules.dependents import queries
from apps.modules.models import ModuleVersion
from apps.portal.frame.paging import page_of
from apps.portal.lifecycle import pages as lifecycle
from apps.portal.modules import attachments, files, versions
from apps.portal.modules.downloads import downloads_card
from apps.portal.modules.frame import default_first, depends_on, frame, where
from apps.portal.modules.units import Unit, grouped
from apps.portal.snippets import module_snippets
from apps.providers.reading import hosted_providers

USERS = 50
UNITS = 100
SUBMODULES_SHOWN = 12
BELOW_SHOWN = 50


@login_not_required
@require_safe
def module(request: HttpRequest, namespace: str, name: str, system: str) -> HttpResponse:
    """The default version: the highest stable listed one, else the highest pre-release."""
    viewer, address = session_viewer(request), ModuleAddress(namespace, name, system)
    row = module_for(viewer, address)
    people = ("created_by", "lifecycle_by", "quarantined_by")
    rows = default_first(row).select_related("module__namespace", *(f"release__{one}" for one in people))
    newest = rows.first()
    if newest is None:  # all are removed: the list of versions says so
        return HttpResponseRedirect(reverse("portal:module-versions", args=[namespace, name, system]))
    return _readme(request, viewer, newest)


@login_not_required
@require_safe
def module_version(request: HttpRequest, namespace: str, name: str, system: str, version: str) -> HttpResponse:
    viewer, address = session_viewer(request), ModuleAddress(namespace, name, system)
    return _readme(request, viewer, version_for(viewer, address, version, even_quarantined=True))


def _readme(request: HttpRequest, viewer: Viewer, shown: ModuleVersion) -> HttpResponse:
    context = frame(viewer, shown, "module-version")
    context |= (
        _usage(shown, context["root"]) | {"card": downloads_card(shown.module)} | attachments.attachments_of(shown)
    )
    if not context["units"].has_root:
        folders = [unit.path for unit in context["units"].submodules[:SUBMODULES_SHOWN]]
        context["usages"] = module_snippets.submodule_usages(context["address"], shown.release.version, folders)
    role, address = context["role"], context["address"]
    if role is not None and role.covers(Role.PUBLISHER):
        highest = context["highest"] or shown.release.version
        context["publish_command"] = module_snippets.publish_command(address, highest)
    return render(request, "portal/module/version.html", context)


def _usage(shown: ModuleVersion, unit: Unit) -> dict[str, Any]:
    address, version = shown.module.address, shown.release.version
    return {
        "usages": module_snippets.usages(address, version, folder=unit.path, inputs=unit.required),
        "needs_credentials": shown.module.namespace.visibility != Visibility.PUBLIC,
        "credentials": module_snippets.credentials_block(),
    }


Page = Callable[..., HttpResponse]


def _tab(route: str, more: Callable[[Viewer, ModuleVersion, dict[str, Any], HttpRequest], dict[str, Any]]) -> Page:
    """The view of a tab: the gate, the frame, the tab's own context, its template."""
    template = f"portal/module/{route.removeprefix('module-')}.html"

    @login_not_required
    @require_safe
    def view(request: HttpRequest, namespace: str, name: str, system: str, version: str) -> HttpResponse:
        viewer, address = session_viewer(request), ModuleAddress(namespace, name, system)
        shown = version_for(viewer, address, version, even_quarantined=True)
        context = frame(viewer, shown, route)
        return render(request, template, context | more(viewer, shown, context, request))

    return view


def _nothing(*_: object) -> dict[str, Any]:
    return {}


def _dependencies(
    viewer: Viewer, shown: ModuleVersion, context: dict[str, Any], request: HttpRequest
) -> dict[str, Any]:
    users = page_of(queries.used_by(viewer, shown.module).select_related("namespace"), request, size=USERS)
    return _calls(viewer, shown, context, context["root"]) | {"page": users}


def _calls(viewer: Viewer, shown: ModuleVersion, context: dict[str, Any], unit: Unit) -> dict[str, Any]:
    """The module blocks of a unit, each with the URL of its module's page if the viewer may see one."""
    targets = queries.hosted_targets(viewer, shown, unit.path) if unit.calls else {}
    folders = context["units"].at(call.folder for call in unit.called)
    rows = []
    for call in unit.called:
        target, inner, url = targets.get(call.row["name"]), folders.get(call.folder), ""
        if target is not None:
            url = reverse("portal:module", args=[target.namespace, target.name, target.system])
        elif inner is not None and inner.kind != "root":
            url = reverse(inner.route, args=[*where(context["address"], shown.release.version), inner.slug])
        rows.append({**call.row, "url": url, "is_hosted": target is not None, "is_local": bool(call.folder)})
    return {"calls": rows, "provider_rows": _provider_rows(viewer, unit)}


def _provider_rows(viewer: Viewer, unit: Unit) -> list[dict[str, Any]]:
    """The providers of a unit; hosted ones that the viewer may see have a link."""
    hosted = hosted_providers(viewer, (row["source"] for row in unit.providers))
    pages = {source: reverse("portal:provider", args=[found.namespace, found.type]) for source, found in hosted.items()}
    return [{**row, "url": pages.get(row["source"], "")} for row in unit.providers]


def _units(*kinds: str) -> Callable[..., dict[str, Any]]:
    def more(_viewer: Viewer, _shown: ModuleVersion, context: dict[str, Any], request: HttpRequest) -> dict[str, Any]:
        listed = [unit for kind in kinds for unit in context["units"].of_kind(kind)]
        page = page_of(listed, request, size=UNITS)
        return {"page": page, "groups": grouped(page.object_list)}

    return more


def _unit_page(kind: str) -> Page:
    """The page of a submodule or an example: its usage, README, inputs, outputs, resources and dependencies."""
    route = "module-examples" if kind == "example" else "module-submodules"

    @login_not_required
    @require_safe
    def view(  # noqa: PLR0917  # the parts of its URL
        request: HttpRequest, namespace: str, name: str, system: str, version: str, unit: str
    ) -> HttpResponse:
        viewer, address = session_viewer(request), ModuleAddress(namespace, name, system)
        shown = version_for(viewer, address, version, even_quarantined=True)
        context = frame(viewer, shown, route)
        folder = context["units"].named(kind, unit)
        if folder is None:
            what = "folder" if kind == "other" else kind
            raise NotFound(f"{address} {version} has no {what} {unit!r}.")
        context |= _usage(shown, folder) | _calls(viewer, shown, context, folder) | {"unit": folder}
        context["below"] = context["units"].below(folder)[:BELOW_SHOWN]
        context["sections"] = [
            ("Inputs", "inputs", len(folder.variables)),
            ("Outputs", "outputs", len(folder.outputs)),
            ("Resources", "resources", len(folder.resources)),
            ("Dependencies", "dependencies", depends_on(folder)),
        ]
        return render(request, "portal/module/unit.html", context)

    return view


@login_not_required
@require_safe
def module_archive(request: HttpRequest, namespace: str, name: str, system: str, version: str) -> HttpResponse:
    """Redirect to the archive. A page may stay open for longer than a capability URL is valid (D6)."""
    release = published_release(session_viewer(request), ModuleAddress(namespace, name, system), version)
    digest, file_name = release.digest, archive_name(release.name, release.version)
    if release.namespace.visibility == Visibility.PUBLIC:
        return HttpResponseRedirect(reverse("protocol:archive", args=[digest, file_name]))
    capability = capabilities.sign(digest=digest, file_name=file_name, now=timezone.now())
    url = reverse("protocol:archive-capability", args=[capability, digest, file_name])
    return HttpResponseRedirect(url, headers={"Cache-Control": "no-store"})


_MODULE = "modules/<str:namespace>/<str:name>/<str:system>"
_VERSION = f"{_MODULE}/<str:version>"

urlpatterns = [
    path(_MODULE, module, name="module"),
    *versions.urlpatterns,  # before <version>
    path(_VERSION, module_version, name="module-version"),
    path(f"{_VERSION}/inputs", _tab("module-inputs", _nothing), name="module-inputs"),
    path(f"{_VERSION}/outputs", _tab("module-outputs", _nothing), name="module-outputs"),
    path(f"{_VERSION}/resources", _tab("module-resources", _nothing), name="module-resources"),
    path(f"{_VERSION}/dependencies", _tab("module-dependencies", _dependencies), name="module-dependencies"),
    path(f"{_VERSION}/submodules", _tab("module-submodules", _units("submodule", "other")), name="module-submodules"),
    path(f"{_VERSION}/submodules/<path:unit>", _unit_page("submodule"), name="module-submodule"),
    path(f"{_VERSION}/examples", _tab("module-examples", _units("example")), name="module-examples"),
    path(f"{_VERSION}/examples/<path:unit>", _unit_page("example"), name="module-example"),
    path(f"{_VERSION}/folders/<path:unit>", _unit_page("other"), name="module-folder"),
    path(f"{_VERSION}/archive", module_archive, name="module-archive"),
    *files.urlpatterns,
    *lifecycle.urlpatterns,
]
