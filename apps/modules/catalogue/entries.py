"""Search entries of modules, written in each transaction that changes a module's versions."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from apps.modules.models import Module, ModuleVersion
from apps.releases.catalogue import search
from apps.releases.models import Kind, Lifecycle

# Defaults of clients for a source without a host or a namespace.
DEFAULT_HOSTS = ("registry.terraform.io", "registry.opentofu.org")
DEFAULT_NAMESPACE = "hashicorp"
# Built into every client.
BUILT_IN = ["terraform.io", "builtin"]
_WITH_HOST = 3  # parts of an address with a host
_PART = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_HOST = re.compile(r"[^\W_][\w.-]*(?::\d{1,5})?")


def refresh(module: Module) -> None:
    """Recalculate the module's default version and its search entry; a module without a version has no entry.

    Call it in the transaction that publishes, yanks, restores, quarantines or purges. It locks the module's row first,
    so that the second of two concurrent changes sees the first.
    """
    # no_key: the key does not change, so rows that only refer to the module need not wait.
    Module.objects.select_for_update(no_key=True).get(pk=module.pk)
    shown = default_version(module)
    if shown is None:
        search.drop(kind=Kind.MODULE, namespace=module.namespace, name=module.address.path_name)
        return
    units: list[dict[str, Any]] = shown.inspection.get("units", [])
    description = module.description or shown.summary
    search.put(
        release=shown.release,
        description=description,
        words=_words(module, description, units),
        facets={"system": [module.system], "provider": _providers(units)},
        is_listed=shown.release.lifecycle != Lifecycle.YANKED,
    )


def default_version(module: Module) -> ModuleVersion | None:
    """The highest stable listed version, see `default_first`."""
    rows = ModuleVersion.objects.filter(module=module).published().default_first().for_pages()
    return rows.select_related("release__namespace").first()


def _words(module: Module, description: str, units: Iterable[Mapping[str, Any]]) -> dict[int, list[str]]:
    words: dict[int, list[str]] = {
        search.NAME: [module.name],
        search.PLACE: [module.namespace.name, module.system],
        search.DESCRIPTION: [description],
        search.SUBMODULE: [],
        search.RESOURCE: [],
        search.INPUT: [],
        search.OUTPUT: [],
    }
    for unit in units:
        if unit["kind"] == "example":
            continue  # a module does not offer what its examples use
        words[search.SUBMODULE].append(unit["name"])
        words[search.RESOURCE] += [found["type"] for found in unit["resources"]]
        words[search.INPUT] += [found["name"] for found in unit["variables"]]
        words[search.OUTPUT] += [found["name"] for found in unit["outputs"]]
    return words


def _providers(units: Iterable[Mapping[str, Any]]) -> set[str]:
    """Source addresses of the providers that the module itself uses, normalised."""
    used = [row for unit in units if unit["kind"] != "example" for row in unit["providers"]]
    return {address for row in used if (address := provider_address(row["source"] or row["name"]))}


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
