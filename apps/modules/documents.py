"""The data of modules.v1's documents. https://opentofu.org/docs/internals/module-registry-protocol/"""

from typing import Any

from apps.modules.models import Module
from apps.modules.reading import version_numbers


def versions_document(module: Module) -> dict[str, Any]:
    """`{"modules": [{"source", "versions": [{"version"}]}]}`, complete (no paging), highest version first.

    Clients read `modules[0].versions[].version` and nothing else.
    """
    listed = [{"version": version} for version in version_numbers(module)]
    return {"modules": [{"source": str(module), "versions": listed}]}


def archive_name(module_version_name: str, version: str) -> str:
    """The file name of an archive URL: go-getter decides by the suffix that it is an archive (M4)."""
    return f"{module_version_name.replace('/', '-')}-{version}.zip"
