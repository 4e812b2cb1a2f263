"""Search entries of modules, written in each transaction that changes a module's versions or its own description."""

import re
from typing import Any

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind as Event
from apps.modules.models import Module, ModuleVersion, ModuleVersionQuerySet
from apps.releases.catalogue import describing, indexing
from apps.releases.catalogue.describing import checked_line, checked_url
from apps.releases.catalogue.indexing import Entry, Item
from apps.releases.models import Kind, Lifecycle

# Defaults of clients for a source without a host or a namespace.
DEFAULT_HOSTS = ("registry.terraform.io", "registry.opentofu.org")
DEFAULT_NAMESPACE = "hashicorp"
# Built into every client.
BUILT_IN = ["terraform.io", "builtin"]
_WITH_HOST = 3  # parts of an address with a host
_PART = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_HOST = re.compile(r"[^\W_][\w.-]*(?::\d{1,5})?")
# Where a resource stands, by its mode.
_PLACES = {"managed": indexing.RESOURCE, "data": indexing.DATA_SOURCE, "ephemeral": indexing.EPHEMERAL}
SHORTER = "Describe the module in one line; the README has the details."


def refresh(module: Module) -> None:
    """Recalculate the module's default version and its search entry; a module without a version has no entry.

    Call it in the transaction that publishes, yanks, restores, quarantines or purges. It locks the module's row first,
    so that the second of two concurrent changes sees the first.
    """
    # no_key: the key does not change, so rows that only refer to the module need not wait.
    Module.objects.select_for_update(no_key=True).get(pk=module.pk)
    shown = _versions(module).defer("readme_html", "files").first()
    if shown is None:
        indexing.drop(kind=Kind.MODULE, namespace=module.namespace, name=module.address.path_name)
        return
    units: list[dict[str, Any]] = shown.inspection.get("units", [])
    description = module.description or shown.summary
    # Source addresses of the providers that the module itself uses, normalised.
    used = [row for unit in units if unit["kind"] != "example" for row in unit["providers"]]
    # What the module declares, each name once: in the root if it is there. An example offers nothing.
    offered = sorted((unit for unit in units if unit["kind"] != "example"), key=lambda unit: unit["kind"] != "root")
    found: dict[tuple[int, str], Item] = {}
    for unit in offered:
        path = unit.get("path", "")
        named = [(indexing.SUBMODULE, unit["name"])] if unit["kind"] != "root" else []
        named += [(_PLACES[row.get("mode", "managed")], row["type"]) for row in unit["resources"]]
        named += [(indexing.INPUT, row["name"]) for row in unit["variables"]]
        named += [(indexing.OUTPUT, row["name"]) for row in unit["outputs"]]
        for place, name in named:
            found.setdefault((place, name), Item(place, name, path))
    entry = Entry(
        description=description,
        words={
            indexing.NAME: [module.name],
            indexing.PLACE: [module.namespace.name, module.system],
            indexing.DESCRIPTION: [description],
        },
        items=list(found.values()),
        readme=" ".join((shown.readmes or {}).values()),
        facets={
            "system": [module.system],
            "provider": {address for row in used if (address := provider_address(row["source"] or row["name"]))},
        },
    )
    indexing.put(release=shown.release, entry=entry, is_listed=shown.release.lifecycle != Lifecycle.YANKED)


def default_version(module: Module) -> ModuleVersion | None:
    """The highest stable listed version, see `default_first`."""
    return _versions(module).for_pages().first()


def _versions(module: Module) -> ModuleVersionQuerySet:
    rows = ModuleVersion.objects.filter(module=module).published().default_first()
    return rows.select_related("release__namespace")


def provider_address(source: str) -> str:
    """Normalise as clients do: `aws` and `registry.terraform.io/HashiCorp/aws` are hashicorp/aws. Empty if invalid."""
    parts = source.strip().lower().split("/")
    if len(parts) == _WITH_HOST and parts[0] in DEFAULT_HOSTS:
        parts = parts[1:]
    if len(parts) == 1:
        parts = [DEFAULT_NAMESPACE, *parts]
    if len(parts) > _WITH_HOST or parts[:2] == BUILT_IN or not all(map(_PART.fullmatch, parts[-2:])):
        return ""
    return "/".join(parts) if len(parts) < _WITH_HOST or _HOST.fullmatch(parts[0]) else ""


def describe(*, module: Module, actor: Viewer, description: str | None = None, source_url: str | None = None) -> None:
    """Change the given fields; None leaves a field unchanged. Raises Invalid.

    If the description is empty, pages show the first words of the README. Update bots follow the URL to the changelog.
    """
    fields = {
        "description": None if description is None else checked_line("description", description, hint=SHORTER),
        "source_url": None if source_url is None else checked_url(source_url),
    }
    kind = Event.MODULE_DESCRIBED
    describing.save_changes(module, fields, actor=actor, kind=kind, address=module.address, refresh=refresh)
