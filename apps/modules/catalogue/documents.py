"""Wire bodies of modules.v1: https://opentofu.org/docs/internals/module-registry-protocol/

Lists and details go beyond the protocol: they have the shape that the public registries give browsers and update bots.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from apps.lib.addresses import ModuleAddress
from apps.modules.models import ModuleVersion


def versions_document(address: ModuleAddress, versions: Iterable[str], source_url: str = "") -> dict[str, Any]:
    """`{"modules": [{"source", "versions": [{"version"}]}]}`, complete (no paging), in the order of `versions`.

    Clients read `modules[0].versions[].version`. If `source` is a URL, update bots look for a changelog there; tofu and
    terraform ignore it.
    """
    listed = [{"version": version} for version in versions]
    return {"modules": [{"source": source_url or str(address), "versions": listed}]}


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
        "published_at": published_at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
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
    return summary | {
        **contents_document(version),
        "providers": sorted(systems),
        "versions": versions,
    }


def contents_document(version: ModuleVersion) -> dict[str, Any]:
    """The root, submodules and examples, each with its README as Markdown and its declarations."""
    units: list[dict[str, Any]] = version.inspection.get("units", [])
    root: dict[str, Any] = next((unit for unit in units if unit["kind"] == "root"), {})
    # A version inspected by an older Larder has only HTML, which is valid Markdown.
    markdown = version.readmes
    if markdown is None:
        markdown = {"": version.readme_html, **{unit["path"]: unit.get("readme", "") for unit in units if unit["path"]}}
    return {
        "root": _unit_document({**root, "name": version.module.name}, markdown),
        "submodules": [_unit_document(unit, markdown) for unit in units if unit["kind"] == "submodule"],
        "examples": [_unit_document(unit, markdown) for unit in units if unit["kind"] == "example"],
    }


def _unit_document(unit: Mapping[str, Any], markdown: Mapping[str, str]) -> dict[str, Any]:
    """A folder with configuration; `markdown`: the READMEs by folder."""
    parts = ("variables", "outputs", "resources", "calls")
    return {
        "path": unit.get("path", ""),
        "name": unit.get("name", ""),
        "readme": markdown.get(unit.get("path", ""), ""),
        "empty": not any(unit.get(part) for part in parts),
        "inputs": [
            {
                "name": one["name"],
                "type": one["type"],
                "description": one["description"],
                # JSON, as the public registries write it; an expression as written; empty if there is no default.
                "default": json.dumps(one["value"], ensure_ascii=False, separators=(",", ":"))
                if "value" in one
                else one["default"] or "",
                "required": one["required"],
            }
            for one in unit.get("variables", [])
        ],
        "outputs": [{"name": one["name"], "description": one["description"]} for one in unit.get("outputs", [])],
        "dependencies": [
            {"name": one["name"], "source": one["source"], "version": one["version"]} for one in unit.get("calls", [])
        ],
        "provider_dependencies": [
            {
                "name": one["name"],
                "namespace": one["source"].split("/")[-2] if "/" in one["source"] else "",
                "source": one["source"],
                "version": one["version"],
            }
            for one in unit.get("providers", [])
        ],
        "resources": [
            {"name": one["name"], "type": one["type"]} for one in unit.get("resources", []) if one["mode"] == "managed"
        ],
    }
