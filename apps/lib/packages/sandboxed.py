"""Provider packages: their names, and their contents as checked in a child process that can only read (D17).

name = packages.name_of("terraform-provider-dns_1.2.0_linux_amd64.zip")     # None: another file; or Refusal
role = packages.role_of(filename, type="dns", version="1.2.0")              # "package", "sums", … "ignored"
listing = packages.inspect(file, packages.limits(), provider_type=name.type, os=name.os, arch=name.arch)
"""

from dataclasses import asdict
from typing import BinaryIO

from apps.lib.archives.rules.limits import Limits
from apps.lib.archives.rules.outcome import Refusal
from apps.lib.archives.sandboxed import CheckBroken, run_check
from apps.lib.packages.names import (
    ARCHITECTURES,
    SYSTEMS,
    PackageName,
    Role,
    is_byproduct,
    is_companion,
    name_of,
    role_of,
)
from apps.lib.packages.outcome import PackageListing

__all__ = [
    "ARCHITECTURES",
    "SYSTEMS",
    "CheckBroken",
    "Limits",
    "PackageListing",
    "PackageName",
    "Refusal",
    "Role",
    "inspect",
    "inspect_foreign",
    "is_byproduct",
    "is_companion",
    "limits",
    "name_of",
    "role_of",
]

_INSPECTING = "apps.lib.packages.child"
_MIB = 1024 * 1024


def limits(*, packed_bytes: int = 500 * _MIB, unpacked_bytes: int = 2048 * _MIB) -> Limits:
    """The limits of one package, with the settings that a refusal names."""
    return Limits(
        packed_bytes=packed_bytes,
        packed_setting="provider_package_max_bytes of LARDER_LIMITS",
        unpacked_bytes=unpacked_bytes,
        unpacked_setting="provider_unpacked_max_bytes of LARDER_LIMITS",
        file_bytes=unpacked_bytes,
        file_setting="provider_unpacked_max_bytes of LARDER_LIMITS",
        seconds=120,  # of the processor: 2 GB take some 20
    )


def inspect(file: BinaryIO, limits: Limits, *, provider_type: str, os: str, arch: str) -> PackageListing:
    """Checks a package in a child process; `file` is a real file, whose position does not matter and is not moved.

    `os` and `arch` are what its name says. Raises Refusal if the package is at fault (also if it costs too much),
    CheckBroken where the check is.
    """
    request = {"limits": asdict(limits), "provider_type": provider_type, "os": os, "arch": arch, "is_foreign": False}
    return run_check(_INSPECTING, request, file, limits, PackageListing.from_fields)


def inspect_foreign(file: BinaryIO, limits: Limits) -> PackageListing:
    """Check a package of another registry as `inspect` does, except its program, which no client checks either.

    There are packages for darwin_arm64 with a program for amd64, and others whose program has a name of its own.
    """
    request = {"limits": asdict(limits), "provider_type": "", "os": "", "arch": "", "is_foreign": True}
    return run_check(_INSPECTING, request, file, limits, PackageListing.from_fields)
