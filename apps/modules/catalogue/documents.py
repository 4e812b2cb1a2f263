"""Wire bodies of modules.v1: https://opentofu.org/docs/internals/module-registry-protocol/

Lists and details go beyond the protocol: they have the shape that the public registries give browsers and update bots.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from apps.lib.addresses import ModuleAddress
from apps.modules.models import ModuleVersion
from apps.releases.catalogue.reading import dates, moment_text


def versions_document(
    address: ModuleAddress, versions: Iterable[tuple[str, datetime]], source_url: str = ""
) -> dict[str, Any]:
    """`{"modules": [{"source", "versions": [{"version", "published_at", "discovered"}]}]}`, complete (no paging), in
    the order of `versions`.

    Clients read `modules[0].versions[].version`. Update bots wait until a version has an age, and if `source` is a URL
    they look for a changelog there; tofu and terraform ignore both.
    """
    listed = [{"version": version, **dates(at)} for version, at in versions]
    return {"modules": [{"source": source_url or str(address), "versions": listed}]}


def download_document(location: str) -> dict[str, str | bool]:
    """The location of one version's archive: OpenTofu reads it here, Terraform only in the header X-Terraform-Get."""
    document: dict[str, str | bool] = {"location": location}
    if settings.USE_REGISTRY_CREDENTIALS:
        # OpenTofu 1.12 fetches the archive itself then, with its token and within 10 s.
        document["use_registry_credentials"] = True
    return document


def archive_name(module_version_name: str, version: str) -> str:
    """The file name of an archive URL: go-getter recognises an archive by its suffix (M4)."""
    return f"{module_version_name.replace('/', '-')}-{version}.zip"


def summary_document(
    address: ModuleAddress, version: str, *, description: str, source_url: str, published_at: datetime, downloads: int
) -> dict[str, Any]:
    """One module in a list. `source` is empty if no repository is known: bots follow any value."""
    return {
        "id": f"{address}/{version}",
        "owner": "",  # elsewhere a person's name; Larder does not publish who works on what
        "namespace": address.namespace,
        "name": address.name,
        "version": version,
        "provider": address.system,
        "provider_logo_url": "",
        "description": description,
        "source": source_url,
        "tag": "",
        "published_at": moment_text(published_at),
        "downloads": downloads,
        "verified": False,
    }


def details_document(version: ModuleVersion, *, versions: list[str], systems: Mapping[str, int]) -> dict[str, Any]:
    """One version and its contents. `versions` are all listed ones, `systems` all of its name with downloads."""
    module, release = version.module, version.release
    assert release.published_at is not None  # noqa: S101  # a constraint says so
    summary = summary_document(
        module.address,
        release.version,
        description=module.description or version.summary,
        source_url=module.source_url,
        published_at=release.published_at,
        downloads=systems.get(module.system, 0),
    )
    contents = contents_of(version)
    return summary | {
        "root": _unit_document(contents.root),
        "submodules": [_unit_document(unit) for unit in contents.submodules],
        "examples": [_unit_document(unit) for unit in contents.examples],
        "providers": sorted(systems),
        "versions": versions,
    }


# Kinds of folders below the root that configurations can call: those in modules/, and all others with configuration,
# such as wrappers/vpc.
CALLABLE = ("submodule", "other")


@dataclass(frozen=True, slots=True)
class Contents:
    """Folders with configuration as `modules.inspection` documents them; `readme` is Markdown, an absent list empty."""

    root: Mapping[str, Any]
    submodules: list[Mapping[str, Any]]
    examples: list[Mapping[str, Any]]


def contents_of(version: ModuleVersion) -> Contents:
    stored: list[dict[str, Any]] = version.inspection.get("units", [])
    # A version inspected by an older Larder has only HTML, which is valid Markdown.
    markdown = version.readmes
    if markdown is None:
        markdown = {
            "": version.readme_html,
            **{unit["path"]: unit.get("readme", "") for unit in stored if unit["path"]},
        }
    units: list[Mapping[str, Any]] = [
        defaultdict(list, unit, readme=markdown.get(unit["path"], "")) for unit in stored if unit["kind"] != "root"
    ]
    root: dict[str, Any] = next((unit for unit in stored if unit["kind"] == "root"), {"path": ""})
    return Contents(
        defaultdict(list, root, name=version.module.name, readme=markdown.get("", "")),
        [unit for unit in units if unit["kind"] in CALLABLE],
        [unit for unit in units if unit["kind"] == "example"],
    )


def is_empty(unit: Mapping[str, Any]) -> bool:
    return not any(unit[part] for part in ("variables", "outputs", "resources", "calls"))


def default_text(variable: Mapping[str, Any]) -> str:
    """JSON, as the public registries write it; an expression as written; empty if there is no default."""
    if "value" in variable:
        return json.dumps(variable["value"], ensure_ascii=False, separators=(",", ":"))
    return variable["default"] or ""


def hides_default(variable: Mapping[str, Any]) -> bool:
    """Return whether the variable has a default that is not shown, as it is sensitive."""
    return bool(variable.get("sensitive")) and not variable["required"]


def namespace_of(provider: Mapping[str, Any]) -> str:
    return provider["source"].split("/")[-2] if "/" in provider["source"] else ""


def _unit_document(unit: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "path": unit["path"],
        "name": unit["name"],
        "readme": unit["readme"],
        "empty": is_empty(unit),
        "inputs": [
            {
                "name": one["name"],
                "type": one["type"],
                "description": one["description"],
                "default": "" if hides_default(one) else default_text(one),
                "default_hidden": hides_default(one),
                "required": one["required"],
            }
            for one in unit["variables"]
        ],
        "outputs": [{"name": one["name"], "description": one["description"]} for one in unit["outputs"]],
        "dependencies": [
            {"name": one["name"], "source": one["source"], "version": one["version"]} for one in unit["calls"]
        ],
        "provider_dependencies": [
            {
                "name": one["name"],
                "namespace": namespace_of(one),
                "source": one["source"],
                "version": one["version"],
            }
            for one in unit["providers"]
        ],
        "resources": [
            {"name": one["name"], "type": one["type"]} for one in unit["resources"] if one["mode"] == "managed"
        ],
    }
