"""The data of modules.v1's documents. https://opentofu.org/docs/internals/module-registry-protocol/"""

from collections.abc import Iterable
from typing import Any

from apps.lib.addresses import ModuleAddress


def versions_document(address: ModuleAddress, versions: Iterable[str]) -> dict[str, Any]:
    """`{"modules": [{"source", "versions": [{"version"}]}]}`, complete (no paging), in the order of `versions`.

    Clients read `modules[0].versions[].version` and nothing else.
    """
    listed = [{"version": version} for version in versions]
    return {"modules": [{"source": str(address), "versions": listed}]}


def archive_name(module_version_name: str, version: str) -> str:
    """The file name of an archive URL: go-getter decides by the suffix that it is an archive (M4)."""
    return f"{module_version_name.replace('/', '-')}-{version}.zip"
