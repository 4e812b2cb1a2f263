"""The content of the demonstration, as the folder `content` has it. The same bytes on every machine of one address."""

import io
import struct
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from apps.releases.models import Kind

CONTENT = Path(__file__).parent / "content"
CHANGES, CHANGELOG = "changes.md", "CHANGELOG.md"
# In the files of modules, for the address of this registry.
HOST = "REGISTRY_HOST"
DATE = (2026, 1, 1, 0, 0, 0)
PROGRAMS = {
    "linux_amd64": (62, None),
    "linux_arm64": (183, None),
    "darwin_arm64": (None, 0x0100000C),
}


@dataclass(frozen=True, slots=True)
class Planned:
    """A version that the demonstration has. `age`: days from its publication to the last reset."""

    kind: Kind
    address: str
    version: str
    age: int

    @property
    def namespace(self) -> str:
        return self.address.partition("/")[0]

    @property
    def name(self) -> str:
        return self.address.partition("/")[2]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.namespace, self.name, self.version

    def __str__(self) -> str:
        return f"{self.address} {self.version}"


@dataclass(frozen=True, slots=True)
class Seed:
    facts: Mapping[str, Any]

    @property
    def visitor(self) -> str:
        return str(self.facts["visitor"])

    @property
    def visitor_name(self) -> str:
        return str(self.facts["people"][self.visitor])

    @property
    def machines(self) -> dict[str, str]:
        """Service accounts by their names, with their teams."""
        teams: Mapping[str, Any] = self.facts["teams"]
        return {f"{team}.{facts['machine']}[bot]": team for team, facts in teams.items() if "machine" in facts}

    @property
    def accounts(self) -> set[str]:
        return {*self.facts["people"], *self.machines}

    @property
    def versions(self) -> list[Planned]:
        """Those of one address from the oldest to the newest."""
        return [
            Planned(kind, address, version, age)
            for kind, group in ((Kind.MODULE, "modules"), (Kind.PROVIDER, "providers"))
            for address, facts in self.facts[group].items()
            for version, age in facts["versions"].items()
        ]

    def daily(self, planned: Planned) -> int:
        group = "modules" if planned.kind == Kind.MODULE else "providers"
        return int(self.facts[group][planned.address]["daily"])


@cache
def seed() -> Seed:
    return Seed(tomllib.loads((CONTENT / "seed.toml").read_text()))


def module_archive(address: str, version: str) -> bytes:
    """Return the zip of a version: what the folders up to its own say, the later ones above all others.

    An empty file takes one away. The changelog has what each of them says of its changes.
    """
    files = {"LICENSE": (CONTENT / "LICENSE").read_bytes()}
    changes: list[str] = []
    for step in seed().facts["modules"][address]["versions"]:
        folder = CONTENT / "modules" / address / step
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name != CHANGES:
                files[path.relative_to(folder).as_posix()] = (
                    path.read_text().replace(HOST, settings.PUBLIC_HOST).encode()
                )
        changes.insert(0, f"## {step}\n\n{(folder / CHANGES).read_text().strip()}\n")
        if step == version:
            break
    files[CHANGELOG] = "\n".join(["# Changelog\n", *changes]).encode()
    return _zipped({name: data for name, data in files.items() if data})


def provider_packages(address: str, version: str) -> Iterator[tuple[str, bytes]]:
    """Yield each package by its file name. Its program is only a head: clients install it, and no one can run it."""
    kind = address.partition("/")[2]
    docs = CONTENT / "provider"
    pages = {path.relative_to(docs).as_posix(): path.read_bytes() for path in sorted(docs.rglob("*.md"))}
    for platform in seed().facts["providers"][address]["platforms"]:
        program = _head_of(platform) + f"\n{kind} {version} {platform}\n".encode()
        name = f"terraform-provider-{kind}_{version}_{platform}.zip"
        yield name, _zipped({f"terraform-provider-{kind}_v{version}": program, **pages}, programs=1)


def _zipped(files: Mapping[str, bytes], *, programs: int = 0) -> bytes:
    """Zip the files; the first so many can be run."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, (name, data) in enumerate(files.items()):
            entry = zipfile.ZipInfo(name, date_time=DATE)
            entry.external_attr = (0o100755 if place < programs else 0o100644) << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return buffer.getvalue()


def _head_of(platform: str) -> bytes:
    """Return a program of that platform that consists of its head."""
    elf, mach = PROGRAMS[platform]
    if mach is not None:
        return struct.pack("<8L", 0xFEEDFACF, mach, 3, 2, 0, 0, 0, 0)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHLQQQL6H", 2, elf, 1, 0x400078, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<LL6Q", 1, 5, 0, 0x400000, 0x400000, 120, 120, 0x1000)
