"""The providers and modules of the test registry: what it serves of each. See `misbehaving.py`.

Modules lie in Git repositories elsewhere.
"""

import hashlib
import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from urllib.parse import quote

from tests.builders import providers
from tests.builders.faults import Answer
from tests.builders.keys import TestKey, signing_key
from tests.builders.zips import Member

JSON = {"Content-Type": "application/json"}


def json_answer(document: Any) -> Answer:
    return Answer(200, json.dumps(document).encode(), JSON)


class Provider:
    """One provider of a registry. `misbehaving.py` lists what tests do with it."""

    def __init__(
        self,
        namespace: str,
        kind: str,
        versions: Iterable[str],
        platforms: Iterable[str],
        key: TestKey | None,
        size: int,
    ) -> None:
        self.namespace, self.type, self.size = namespace, kind, size
        self.versions, self.platforms, self.protocols = list(versions), list(platforms), ["5.0"]
        self.keys = [key] if key else []
        self.signer = key or signing_key("foreign")  # public registries have signatures by keys that they do not know
        self.more: dict[str, dict[str, Any]] = {}
        self.editions: dict[str, int] = {}
        self._zips: dict[tuple[str, str, int], bytes] = {}
        self._lock = Lock()

    def replace(self, version: str) -> None:
        """Publish other bytes under a version, with sums and a signature that fit."""
        self.editions[version] = self.editions.get(version, 0) + 1

    def change_key(self, key: TestKey) -> None:
        self.keys, self.signer = [key], key

    def name_no_key(self) -> None:
        self.keys = []

    def sign_with(self, key: TestKey) -> None:
        """Sign with a key that the registry does not list."""
        self.signer = key

    @property
    def list_path(self) -> str:
        return f"/v1/providers/{self.namespace}/{self.type}/versions"

    def document_path(self, version: str, platform: str = "linux_amd64") -> str:
        return f"/v1/providers/{self.namespace}/{self.type}/{version}/download/{platform.replace('_', '/', 1)}"

    def file_name(self, version: str, platform: str = "linux_amd64") -> str:
        return f"{self._stem(version)}_{platform}.zip"

    def zip_path(self, version: str, platform: str = "linux_amd64") -> str:
        return self._file_path(version, self.file_name(version, platform))

    def sums_path(self, version: str) -> str:
        return self._file_path(version, f"{self._stem(version)}_SHA256SUMS")

    def signature_path(self, version: str) -> str:
        return f"{self.sums_path(version)}.sig"

    def zip(self, version: str, platform: str = "linux_amd64") -> bytes:
        edition = self.editions.get(version, 0)
        with self._lock:
            if (version, platform, edition) not in self._zips:
                extra = [Member("EDITION", str(edition).encode())] if edition else []
                if self.size:
                    filler = random.Random(f"{version}{platform}").randbytes(self.size)
                    extra.append(Member("filler.bin", filler, method=0))
                os, _, arch = platform.partition("_")
                made = providers.package(self.type, version, os, arch, extra=extra)
                self._zips[version, platform, edition] = made
            return self._zips[version, platform, edition]

    def sums(self, version: str) -> bytes:
        return providers.sums({self.file_name(version, each): self.zip(version, each) for each in self.platforms})

    def answer(self, path: str, packages_url: str) -> Answer | None:
        """Return what is at this path, if it is this provider's."""
        if path == self.list_path:
            return json_answer({"versions": [self._entry(version) for version in self.versions], "warnings": None})
        for version in (one for one in self.versions if f"/{one}/" in path):
            if path == self.sums_path(version):
                return Answer(200, self.sums(version), {"Content-Type": "text/plain"})
            if path == self.signature_path(version):
                return Answer(200, self.signer.sign(self.sums(version)))
            for platform in self.platforms:
                if path == self.zip_path(version, platform):
                    return Answer(200, self.zip(version, platform), {"Content-Type": "application/zip"})
                if path == self.document_path(version, platform):
                    return json_answer(self._document(version, platform, packages_url))
        return None

    def _entry(self, version: str) -> dict[str, Any]:
        platforms = [dict(zip(("os", "arch"), each.split("_", 1), strict=True)) for each in self.platforms]
        entry = {"version": version, "protocols": self.protocols, "platforms": platforms}
        return entry | self.more.get(version, {})

    def _document(self, version: str, platform: str, packages_url: str) -> dict[str, Any]:
        os, _, arch = platform.partition("_")
        listed = [{"key_id": key.key_id, "ascii_armor": key.armor, "source": "Acme"} for key in self.keys]
        return {
            "protocols": self.protocols,
            "os": os,
            "arch": arch,
            "filename": self.file_name(version, platform),
            "download_url": packages_url + quote(self.zip_path(version, platform)),
            "shasums_url": packages_url + quote(self.sums_path(version)),
            "shasums_signature_url": packages_url + quote(self.signature_path(version)),
            "shasum": hashlib.sha256(self.zip(version, platform)).hexdigest(),
            "signing_keys": {"gpg_public_keys": listed},
        }

    def _stem(self, version: str) -> str:
        return f"terraform-provider-{self.type}_{version}"

    def _file_path(self, version: str, name: str) -> str:
        return f"/packages/{self.namespace}/{self.type}/{version}/{name}"


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
