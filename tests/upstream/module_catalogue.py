"""The modules of the test registry, which lie in Git repositories elsewhere. See `misbehaving.py`."""

from dataclasses import dataclass, field
from typing import Any

from tests.upstream.catalogue import json_answer
from tests.upstream.faults import Answer


@dataclass
class Module:
    """`location`: of all versions, with {version}; `locations` has others. `as_json`: in the body, not in the header.

    `more[version]` has further fields of its entry in the list.
    """

    address: str  # namespace/name/system
    location: str
    versions: list[str]
    locations: dict[str, str] = field(default_factory=dict)
    more: dict[str, dict[str, Any]] = field(default_factory=dict)
    as_json: bool = False

    @property
    def list_path(self) -> str:
        return f"/v1/modules/{self.address}/versions"

    def download_path(self, version: str) -> str:
        return f"/v1/modules/{self.address}/{version}/download"

    def answer(self, path: str) -> Answer | None:
        """Return what is at this path, if it is this module's."""
        if path == self.list_path:
            entries = [{"version": version} | self.more.get(version, {}) for version in self.versions]
            return json_answer({"modules": [{"source": self.address, "versions": entries}]})
        for version in self.versions:
            if path == self.download_path(version):
                found = self.locations.get(version, self.location.format(version=version))
                if self.as_json:
                    return json_answer({"location": found})
                return Answer(204, b"", {"X-Terraform-Get": found})
        return None
