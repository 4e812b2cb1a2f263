"""The frame of every page of one version: address, state, version switcher, tabs."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Count, QuerySet, Subquery
from django.urls import reverse

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules.catalogue.documents import archive_name
from apps.modules.models import Module, ModuleVersion
from apps.portal.frame import damage
from apps.portal.modules.units import Unit, Units

SWITCHER = 10


@dataclass(frozen=True, slots=True)
class Tab:
    route: str
    label: str
    count: int | None = None


def frame(viewer: Viewer, shown: ModuleVersion, route: str) -> dict[str, Any]:
    """The context of templates/portal/module/base_version.html. `route` names the open tab."""
    address, release, module = shown.module.address, shown.release, shown.module
    units = Units.from_version(shown)
    context: dict[str, Any] = {"address": address, "shown": shown, "release": release, "namespace": module.namespace}
    context["role"] = gate.role_on(viewer, module.namespace) if viewer.is_identified else None
    context["damage"] = damage.warnings_for(
        context["role"], [(archive_name(release.name, release.version), release.digest)]
    )
    context |= _others(shown) | {"units": units, "root": units.root, "tab": route, "tabs": tabs(shown, units)}
    context["is_latest"] = context["latest"] == release.version
    context["is_older"] = bytes(release.sort_key) < bytes(context["latest_key"])
    context["files_path"] = reverse("portal:module-files", args=where(address, release.version))
    context["repository"] = repository(module)
    # No block to copy for versions that should not be used.
    context["is_folded"] = release.lifecycle == "yanked" or release.quarantined_at is not None
    return context


def where(address: ModuleAddress, version: str) -> list[str]:
    """The arguments of every route of one version."""
    return [address.namespace, address.name, address.system, version]


def tabs(shown: ModuleVersion, units: Units) -> list[Tab]:
    root = units.root

    def count(number: int) -> int | None:
        return number if units.is_inspected else None

    def found(number: int) -> int | None:
        """The number of rows of the root; None for zero if some file could not be parsed."""
        return count(number) if number or not root.warnings else None

    of_root = [
        Tab("module-inputs", "Inputs", found(len(root.variables))),
        Tab("module-outputs", "Outputs", found(len(root.outputs))),
        Tab("module-resources", "Resources", found(len(root.resources))),
    ]
    return [
        Tab("module-version", "README"),
        *(of_root if units.has_root else []),
        Tab("module-dependencies", "Dependencies", found(depends_on(root)) if units.has_root else None),
        Tab("module-submodules", "Submodules", count(len(units.submodules))),
        Tab("module-examples", "Examples", count(len(units.examples))),
        Tab("module-files", "Files", shown.file_count),
    ]


def depends_on(unit: Unit) -> int:
    return len(unit.providers) + len(unit.calls)


def repository(module: Module) -> dict[str, str] | None:
    """A link to the repository, labelled host/path; only for web URLs."""
    parts = urlsplit(module.source_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    return {"url": module.source_url, "label": f"{parts.hostname}{parts.path}".rstrip("/").removesuffix(".git")}


def all_of(module: Module) -> QuerySet[ModuleVersion]:
    """Highest first, without page texts: lists do not show them, and they can be large."""
    rows = ModuleVersion.objects.filter(module=module).published().select_related("release").newest_first()
    return rows.without_texts()


def default_first(module: Module) -> QuerySet[ModuleVersion]:
    return ModuleVersion.objects.filter(module=module).published().default_first().for_pages()


def _others(shown: ModuleVersion) -> dict[str, Any]:
    """The first versions for the switcher, and facts about all of them, in two queries for any number."""
    rows, key = ModuleVersion.objects.filter(module=shown.module).published(), bytes(shown.release.sort_key)
    listed, number = rows.listed(), "release__version"
    asked = {
        "newer": listed.filter(release__sort_key__gt=key).newest_first().reverse().values(number)[:1],
        "older": listed.filter(release__sort_key__lt=key).newest_first().values(number)[:1],
        "latest": rows.default_first().values(number)[:1],
        "latest_key": rows.default_first().values("release__sort_key")[:1],
        "highest": rows.newest_first().values(number)[:1],
        "version_count": rows.order_by().values("module").annotate(number=Count("pk")).values("number"),
    }
    queries = {name: Subquery(query) for name, query in asked.items()}
    found = Module.objects.filter(pk=shown.module.pk).annotate(**queries).values(*queries).get()
    found |= {"latest": found["latest"] or shown.release.version, "latest_key": found["latest_key"] or key}
    found |= {"version_count": found["version_count"] or 0}
    return {**found, "versions": all_of(shown.module)[:SWITCHER]}
