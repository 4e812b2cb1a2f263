"""Provider packages without Go: a zip whose program is no more than a true header of its platform.

Clients need the file to be there for `init`; nobody runs it. The same arguments give the same bytes.
"""

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence

from tests.builders.zips import Member, build

PROGRAM = 0o100755
PLATFORMS = ("darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64")

_LITTLE, _BIG = 1, 2
# arch -> machine, 32 or 64 bit, byte order: the columns of the ELF specification's processor supplements.
_ELF = {
    "386": (3, 32, _LITTLE),
    "amd64": (62, 64, _LITTLE),
    "arm": (40, 32, _LITTLE),
    "arm64": (183, 64, _LITTLE),
    "loong64": (258, 64, _LITTLE),
    "mips": (8, 32, _BIG),
    "mips64": (8, 64, _BIG),
    "mips64le": (8, 64, _LITTLE),
    "mipsle": (8, 32, _LITTLE),
    "ppc64": (21, 64, _BIG),
    "ppc64le": (21, 64, _LITTLE),
    "riscv64": (243, 64, _LITTLE),
    "s390x": (22, 64, _BIG),
}
_ABI = {"freebsd": 9, "netbsd": 2, "openbsd": 12}
_MACH = {"386": 7, "amd64": 0x01000007, "arm": 12, "arm64": 0x0100000C}
_PE = {"386": 0x014C, "amd64": 0x8664, "arm": 0x01C4, "arm64": 0xAA64}


def program(os: str, arch: str) -> bytes:
    """A file that begins as a Go program for that platform does. Unknown platforms are a KeyError."""
    if os == "windows":
        return pe(_PE[arch], wide=arch in ("amd64", "arm64"))
    if os == "darwin":
        return mach(_MACH[arch])
    machine, bits, order = _ELF[arch]
    return elf(machine, bits, order, abi=_ABI.get(os, 0))


def elf(machine: int, bits: int = 64, order: int = _LITTLE, *, abi: int = 0, kind: int = 2) -> bytes:
    """An ELF head with one loadable segment. `kind` 2 is a program, 3 one that may lie anywhere, 1 an object file."""
    mark = "<" if order == _LITTLE else ">"
    word = "Q" if bits == 64 else "L"
    size, segment = (64, 56) if bits == 64 else (52, 32)
    ident = b"\x7fELF" + bytes([2 if bits == 64 else 1, order, 1, abi]) + bytes(8)
    entry = 0x400000 + size + segment
    rest = struct.pack(f"{mark}HHL3{word}L6H", kind, machine, 1, entry, size, 0, 0, size, segment, 1, 0, 0, 0)
    whole = size + segment
    if bits == 64:
        load = struct.pack(f"{mark}LL6Q", 1, 5, 0, 0x400000, 0x400000, whole, whole, 0x1000)
    else:
        load = struct.pack(f"{mark}8L", 1, 0, 0x400000, 0x400000, whole, whole, 5, 0x1000)
    return ident + rest + load


def mach(cpu: int, *, kind: int = 2) -> bytes:
    """A Mach-O head without load commands. `kind` 2 is a program, 6 a library."""
    if cpu >> 24:
        return struct.pack("<8L", 0xFEEDFACF, cpu, 3, kind, 0, 0, 0, 0)
    return struct.pack("<7L", 0xFEEDFACE, cpu, 3, kind, 0, 0, 0)


def universal(*cpus: int) -> bytes:
    """A fat Mach-O: one thin program for each processor, at places a page apart."""
    head = struct.pack(">LL", 0xCAFEBABE, len(cpus))
    body, at = b"", 4096
    for cpu in cpus:
        thin = mach(cpu)
        head += struct.pack(">5L", cpu, 3, at, len(thin), 12)
        body += thin.ljust(4096, b"\0")
        at += 4096
    return head.ljust(4096, b"\0") + body


def pe(machine: int, *, wide: bool = True, flags: int = 0x0022) -> bytes:
    """A PE head behind a DOS stub. `flags` 0x2000 makes it a library."""
    stub = b"MZ".ljust(60, b"\0") + struct.pack("<L", 0x80)
    optional = struct.pack("<H", 0x020B if wide else 0x010B).ljust(240 if wide else 224, b"\0")
    coff = struct.pack("<2H3L2H", machine, 0, 0, 0, 0, len(optional), flags)
    return stub.ljust(0x80, b"\0") + b"PE\0\0" + coff + optional


def package(
    type: str,  # noqa: A002 - the field's word
    version: str,
    os: str,
    arch: str,
    *,
    extra: Sequence[Member] | Mapping[str, str] | Mapping[str, bytes] = (),
) -> bytes:
    """One provider zip as GoReleaser packs it; `extra` are further files."""
    suffix = ".exe" if os == "windows" else ""
    told = f"\n{type} {version} {os}_{arch}\n".encode()  # no two packages are the same bytes
    body = program(os, arch) + told
    if isinstance(extra, Mapping):
        extra = [Member(name, text.encode() if isinstance(text, str) else text) for name, text in extra.items()]
    return build([*extra, Member(f"terraform-provider-{type}_v{version}{suffix}", body, mode=PROGRAM)])


def manifest(*protocols: str) -> bytes:
    """`terraform-registry-manifest.json` of those protocols."""
    return json.dumps({"version": 1, "metadata": {"protocol_versions": list(protocols)}}).encode() + b"\n"


def dist(
    type: str,  # noqa: A002 - the field's word
    version: str,
    platforms: Sequence[str] = PLATFORMS,
    *,
    protocols: Sequence[str] = ("5.0",),
) -> dict[str, bytes]:
    """The files of a build folder by name: the zips, the manifest (none where `protocols` is empty), their sums.

    It is not signed: the signature of the file whose name ends in `_SHA256SUMS` is its name and `.sig`.
    """
    stem = f"terraform-provider-{type}_{version}"
    files = {f"{stem}_{platform}.zip": package(type, version, *platform.split("_")) for platform in platforms}
    if protocols:
        files[f"{stem}_manifest.json"] = manifest(*protocols)
    return files | {f"{stem}_SHA256SUMS": sums(files)}


def sums(files: Mapping[str, bytes]) -> bytes:
    """A SHA256SUMS of those files, as `sha256sum` writes it, by name."""
    lines = (f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    return "".join(lines).encode()
