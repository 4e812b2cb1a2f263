"""The pages of one module version: each tab has its own URL. For its files see files.py."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.access import contacts
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Visibility
from apps.blobs import capabilities
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import NotFound
from apps.modules import usage_examples
from apps.modules.catalogue.documents import CALLABLE, archive_name
from apps.modules.catalogue.reading import published_release
from apps.modules.contents import changelog
from apps.modules.dependents.users import hosted_targets, offered_of, selected
from apps.modules.health import health_of, licence_file
from apps.modules.models import ModuleVersion
from apps.portal.frame.page_urls import page_of
from apps.portal.frame.sections import sections_of
from apps.portal.modules import attachments, files, rows
from apps.portal.modules.frame import MODULES, depends_on, where
from apps.portal.modules.units import CalledUnit, Unit, grouped
from apps.portal.versions import urls
from apps.portal.versions.downloads import downloads_card
from apps.portal.versions.origin import origin_tab
from apps.portal.versions.pages import Contents, Opened, refusing
from apps.providers.reading import hosted_providers
from apps.releases.lifecycle import quarantine
from apps.releases.models import Kind
from apps.snippets import module_snippets

UNITS = 100
SUBMODULES_SHOWN = 12
BELOW_SHOWN = 50


def _readme(request: HttpRequest, opened: Opened, context: dict[str, Any]) -> None:
    shown: ModuleVersion = opened.shown
    context |= _usage(opened, context["root"], is_latest=context["is_latest"]) | {"card": downloads_card(shown.module)}
    context |= attachments.attachments_of(shown)
    context["refusing"] = refusing(opened)
    context["provider_rows"] = _provider_rows(opened.viewer, context["root"])
    names = (row["name"] for row in shown.files if row["name"].lower() in changelog.NAMES)
    context["changelog_file"] = next(names, "")
    context["licence_file"] = licence_file(row["name"] for row in shown.files)
    context["owners"] = contacts.owners_of(shown.module.namespace) if opened.role else []
    context["health"] = health_of(shown)
    context |= _readme_of(request, shown.readme_html, context["address"])
    if not context["units"].has_root:
        folders = {unit.path: unit.required for unit in context["units"].submodules[:SUBMODULES_SHOWN]}
        context["usages"] = module_snippets.submodule_usages(context["address"], shown.release.version, folders)
        context["usage_shown"] = next(iter(folders), "")


def _readme_of(request: HttpRequest, html: str, address: ModuleAddress) -> dict[str, Any]:
    """The README in this registry's address, or as published; the switch between both where they differ."""
    here = usage_examples.readdressed(html, address, module_snippets.source_of(address), mark="<mark>{}</mark>")
    if here == html:
        return {"readme": html}
    is_original = request.GET.get("addresses") == "original"
    switch = [("This registry", request.path, not is_original), ("As published", "?addresses=original", is_original)]
    return {"readme": html if is_original else here, "readme_switch": switch}


def _usage(opened: Opened, unit: Unit, *, is_latest: bool) -> dict[str, Any]:
    """The ways to write it. Who chose an older version sees the lines for exactly that one first."""
    shown: ModuleVersion = opened.shown
    address, version = shown.module.address, shown.release.version
    is_public = shown.module.namespace.visibility == Visibility.PUBLIC
    blocks = module_snippets.usages(address, version, folder=unit.path, inputs=unit.required, is_public=is_public)
    has_range = is_latest and any(one.key == "range" for one in blocks)
    links = sections_of("module-call", opened.viewer, CalledUnit(address, version, unit))
    return {"usages": blocks, "usage_shown": "range" if has_range else "exact", "call_links": links}


def _dependencies(_request: HttpRequest, opened: Opened, context: dict[str, Any]) -> None:
    context |= _calls(opened.viewer, opened.shown, context, context["root"])


def _calls(viewer: Viewer, shown: ModuleVersion, context: dict[str, Any], unit: Unit) -> dict[str, Any]:
    """The module blocks and providers of a unit; those that the viewer may see here with link and selected version."""
    targets = hosted_targets(viewer, shown, unit.path) if unit.calls else {}
    folders = context["units"].at(call.folder for call in unit.called)
    calls = []
    for call in unit.called:
        target, inner, url = targets.get(call.row["name"]), folders.get(call.folder), ""
        if target is not None:
            url = reverse("portal:module", args=[target.namespace, target.name, target.system])
        elif inner is not None and inner.kind != "root":
            url = reverse(inner.route, args=[*where(context["address"], shown.release.version), inner.slug])
        calls.append({**call.row, "url": url, "hosted": target, "is_local": bool(call.folder)})
    provider_rows = _provider_rows(viewer, unit)
    for kind, used in ((Kind.MODULE, calls), (Kind.PROVIDER, provider_rows)):
        offered = offered_of(kind, dict.fromkeys(row["hosted"] for row in used if row["hosted"]))
        for row in used:
            source = row["source"] if kind == Kind.MODULE else ""
            row["selected"] = selected(row["version"], source, offered.get(row["hosted"], []))
    return {"calls": calls, "provider_rows": provider_rows}


def _provider_rows(viewer: Viewer, unit: Unit) -> list[dict[str, Any]]:
    """The providers of a unit; hosted ones that the viewer may see have a link."""
    hosted = hosted_providers(viewer, (row["source"] for row in unit.providers))
    pages = {source: reverse("portal:provider", args=[found.namespace, found.type]) for source, found in hosted.items()}
    return [{**row, "url": pages.get(row["source"], ""), "hosted": hosted.get(row["source"])} for row in unit.providers]


def _units(*kinds: str) -> Contents:
    def more(request: HttpRequest, _opened: Opened, context: dict[str, Any]) -> None:
        listed = [unit for kind in kinds for unit in context["units"].of_kind(kind)]
        page = page_of(listed, request, size=UNITS)
        context |= {"page": page, "groups": grouped(page.object_list)}

    return more


@login_not_required
@require_safe
def module_unit(request: HttpRequest, *, kind: str, version: str, unit: str, **names: str) -> HttpResponse:
    """A submodule, example or folder: its usage, README, inputs, outputs, resources and dependencies."""
    opened = MODULES.open(request, version, names)
    context = MODULES.frame(opened, "examples" if kind == "example" else "submodules")
    folder = context["units"].named(kind, unit)
    if folder is None:
        what = "folder" if kind == "other" else kind
        raise NotFound(f"{context['address']} {version} has no {what} {unit!r}.")
    context |= _usage(opened, folder, is_latest=context["is_latest"])
    context |= _readme_of(request, folder.readme, context["address"])
    context |= _calls(opened.viewer, opened.shown, context, folder) | {"unit": folder}
    part, page = rows.part_of(folder, request)
    context |= {"part": part, "full": rows.ordered(folder), "page": page}
    context["below"] = context["units"].below(folder)[:BELOW_SHOWN]
    context["sections"] = [
        ("Inputs", "inputs", len(folder.variables)),
        ("Outputs", "outputs", len(folder.outputs)),
        ("Resources", "resources", len(folder.resources) + len(folder.actions)),
        ("Dependencies", "dependencies", depends_on(folder)),
    ]
    return render(request, "portal/module/unit.html", context)


@login_not_required
@require_safe
def module_configuration(request: HttpRequest, *, version: str, unit: str, **names: str) -> HttpResponse:
    """An example as a ready configuration: its files, calling this registry's address and version."""
    opened = MODULES.open(request, version, names)
    quarantine.refuse_blocked(opened.shown.release)
    context = MODULES.frame(opened, "examples")
    example = context["units"].named("example", unit)
    if example is None:
        raise NotFound(f"{context['address']} {version} has no example {unit!r}.")
    row = next(one for one in opened.shown.inspection["units"] if one["path"] == example.path)
    context |= {"unit": example, "ready": module_snippets.ready_example(opened.shown, row)}
    return render(request, "portal/module/configuration.html", context)


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


_VERSION = f"{MODULES.path}/<str:version>"
_TABS: dict[str, Contents] = {
    "version": _readme,
    "inputs": rows.tab_of("variables"),
    "outputs": rows.tab_of("outputs"),
    "resources": rows.tab_of("resources"),
    "dependencies": _dependencies,
    "submodules": _units(*CALLABLE),
    "examples": _units("example"),
    "origin": origin_tab,
}

urlpatterns = [
    *urls.routes(MODULES, _TABS),
    path(f"{_VERSION}/submodules/<path:unit>", module_unit, {"kind": "submodule"}, name="module-submodule"),
    path(f"{_VERSION}/examples/<path:unit>", module_unit, {"kind": "example"}, name="module-example"),
    path(f"{_VERSION}/folders/<path:unit>", module_unit, {"kind": "other"}, name="module-folder"),
    path(f"{_VERSION}/archive", module_archive, name="module-archive"),
    *rows.urlpatterns,
    path(f"{_VERSION}/configurations/<path:unit>", module_configuration, name="module-configuration"),
    *files.urlpatterns,
]
