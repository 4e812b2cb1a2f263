"""What lists and searches say of a module, written down whenever its versions change, in the same transaction."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from apps.modules.models import Module, ModuleVersion
from apps.releases.catalogue import search
from apps.releases.models import Kind, Lifecycle

# What clients put in where a source names no host, or no namespace either.
DEFAULT_HOSTS = ("registry.terraform.io", "registry.opentofu.org")
DEFAULT_NAMESPACE = "hashicorp"
# Comes with every client.
BUILT_IN = ["terraform.io", "builtin"]
_WITH_HOST = 3  # parts of an address
_PART = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_HOST = re.compile(r"[^\W_][\w.-]*(?::\d{1,5})?")


def refresh(module: Module) -> None:
    """Find the module's default version anew and write its search document; a module without one has none.

    Call it inside the transaction that publishes, yanks, restores, quarantines or purges. The row of the module is
    locked first, so that of two who change its versions at once the second one sees what the first one did.
    """
    # no_key: nobody changes the module's key here, so whoever only refers to the module need not wait.
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
    """The version that is shown where none is named: the highest stable listed one, see `default_first`."""
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
            continue  # what an example uses is not what the module offers
        words[search.SUBMODULE].append(unit["name"])
        words[search.RESOURCE] += [found["type"] for found in unit["resources"]]
        words[search.INPUT] += [found["name"] for found in unit["variables"]]
        words[search.OUTPUT] += [found["name"] for found in unit["outputs"]]
    return words


def _providers(units: Iterable[Mapping[str, Any]]) -> set[str]:
    """Source addresses of the providers that the module itself uses, each spelt in one way."""
    used = [found for unit in units if unit["kind"] != "example" for found in unit["providers"]]
    return {address for found in used if (address := provider_address(found["source"] or found["name"]))}


def provider_address(source: str) -> str:
    """As clients read it: `aws` and `registry.terraform.io/HashiCorp/aws` are hashicorp/aws. Empty where it is none."""
    parts = source.strip().lower().split("/")
    if len(parts) == _WITH_HOST and parts[0] in DEFAULT_HOSTS:
        parts = parts[1:]
    if len(parts) == 1:
        parts = [DEFAULT_NAMESPACE, *parts]
    if len(parts) > _WITH_HOST or parts[:2] == BUILT_IN or not all(map(_PART.fullmatch, parts[-2:])):
        return ""
    return "/".join(parts) if len(parts) < _WITH_HOST or _HOST.fullmatch(parts[0]) else ""
