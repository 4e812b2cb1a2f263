"""The platform of a program, by its own head: ELF, Mach-O (thin or universal), PE."""

import struct
from dataclasses import dataclass

from apps.lib.archives.rules.magic import looks_like

HEAD_BYTES = 16 * 1024

_BITS, _ORDERS = {1: 32, 2: 64}, {1: "<", 2: ">"}
_ELF_KINDS = {1: "an object file", 4: "a core dump"}
_ELF_MACHINES = {
    (3, 32, "<"): "386",
    (62, 64, "<"): "amd64",
    (40, 32, "<"): "arm",
    (183, 64, "<"): "arm64",
    (258, 64, "<"): "loong64",
    (8, 32, ">"): "mips",
    (8, 64, ">"): "mips64",
    (8, 64, "<"): "mips64le",
    (8, 32, "<"): "mipsle",
    (21, 64, ">"): "ppc64",
    (21, 64, "<"): "ppc64le",
    (243, 64, "<"): "riscv64",
    (22, 64, ">"): "s390x",
}
_SUN = ("solaris", "illumos")
_ELF_ABIS = {2: ("netbsd",), 3: ("linux", "android"), 6: _SUN, 9: ("freebsd",), 12: ("openbsd",)}
# Names of notes and of loaders. They lie between the head and the code.
_ELF_MARKS = {
    b"FreeBSD\0": ("freebsd",),
    b"NetBSD\0": ("netbsd",),
    b"OpenBSD\0": ("openbsd",),
    b"DragonFly\0": ("dragonfly",),
    b"Android\0": ("android",),
    b"/system/bin/linker": ("android",),
    b"/ld-linux": ("linux",),
    b"/ld-musl": ("linux",),
    b"/lib/amd64/ld.so.1\0": _SUN,
}
_MARKS_WITHIN = 4096
# Go's own linker marks what it makes for the three BSDs of `_ELF_ABIS`; with its note alone, it is another system.
_GO_NOTES = (b"\x04\0\0\0Go\0\0", b"\0\0\0\x04Go\0\0")
_UNMARKED = ("linux", "android", "dragonfly", *_SUN)

_MACH_CPUS = {7: "386", 0x01000007: "amd64", 12: "arm", 0x0100000C: "arm64"}
_MACH_THIN = {b"\xcf\xfa\xed\xfe": "<", b"\xce\xfa\xed\xfe": "<", b"\xfe\xed\xfa\xcf": ">", b"\xfe\xed\xfa\xce": ">"}
_MACH_FAT = {b"\xca\xfe\xba\xbe": 20, b"\xca\xfe\xba\xbf": 32}  # the length of one slice's record
_MACH_KINDS = {1: "an object file", 4: "a core dump", 6: "a library", 8: "a bundle", 10: "a debugging companion"}
_MAX_SLICES = 16  # a Java class begins like a fat Mach-O, with 45 or more where the number of slices is

_PE_MACHINES = {0x014C: "386", 0x8664: "amd64", 0x01C4: "arm", 0xAA64: "arm64"}
_PE_LIBRARY = 0x2000


@dataclass(frozen=True, slots=True)
class Program:
    """A program's head. Empty `systems`: it does not say for which system, as a plain ELF head does not."""

    form: str
    systems: tuple[str, ...]
    architectures: tuple[str, ...]

    def runs_on(self, os: str, arch: str) -> bool:
        return (os in self.systems or (not self.systems and os not in ("windows", "darwin"))) and (
            arch in self.architectures
        )

    @property
    def words(self) -> str:
        """`an ELF program for linux_amd64`."""
        systems = self.systems or ("linux",)
        alike = " or alike" if len(systems) > 1 or not self.systems else ""
        return f"{self.form} program for {' and '.join(f'{systems[0]}_{arch}' for arch in self.architectures)}{alike}"


class NoProgram(Exception):
    """`str()` is the kind of file that it looks like."""


def read_head(head: bytes) -> Program:
    """Reads the first bytes (`HEAD_BYTES` say enough) of a file. Raises NoProgram."""
    try:
        if head.startswith(b"\x7fELF"):
            return _elf(head)
        if head[:4] in _MACH_THIN:
            order = _MACH_THIN[head[:4]]
            cpu, _, kind = struct.unpack_from(f"{order}3L", head, 4)
            if kind in _MACH_KINDS:
                raise NoProgram(f"{_MACH_KINDS[kind]} (Mach-O)")
            return Program("a Mach-O", ("darwin",), (_MACH_CPUS.get(cpu, _unknown(cpu)),))
        if head[:4] in _MACH_FAT:
            step, (count,) = _MACH_FAT[head[:4]], struct.unpack_from(">L", head, 4)
            if not 0 < count <= _MAX_SLICES:
                raise NoProgram("a Java class, or a damaged universal Mach-O")
            cpus = [struct.unpack_from(">L", head, 8 + number * step)[0] for number in range(count)]
            names = tuple(_MACH_CPUS.get(cpu, _unknown(cpu)) for cpu in cpus)
            return Program("a universal Mach-O", ("darwin",), names)
        if head.startswith(b"MZ"):
            return _pe(head)
    except (struct.error, IndexError):
        raise NoProgram("a damaged program that ends within its header") from None
    if head.startswith(b"#!"):
        raise NoProgram(f"a script ({head[:80].splitlines()[0].decode('ascii', 'replace')})")
    raise NoProgram(looks_like(head) if head else "a file of 0 bytes")


def _elf(head: bytes) -> Program:
    bits, order, abi = _BITS.get(head[4], 0), _ORDERS.get(head[5], ""), head[7]
    if not bits or not order:
        raise NoProgram("a damaged ELF head")
    kind, machine = struct.unpack_from(f"{order}HH", head, 16)
    if kind in _ELF_KINDS:
        raise NoProgram(f"{_ELF_KINDS[kind]} (ELF)")
    arch = _ELF_MACHINES.get((machine, bits, order), _unknown(machine))
    near = head[:_MARKS_WITHIN]
    marked = next((systems for mark, systems in _ELF_MARKS.items() if mark in near), ())
    unmarked = _UNMARKED if any(note in near for note in _GO_NOTES) else ()
    return Program("an ELF", marked or _ELF_ABIS.get(abi, unmarked), (arch,))


def _pe(head: bytes) -> Program:
    (at,) = struct.unpack_from("<L", head, 0x3C)
    if head[at : at + 4] != b"PE\0\0":
        raise NoProgram("a DOS program, or a damaged PE head")
    machine, flags = struct.unpack_from("<H16xH", head, at + 4)
    if flags & _PE_LIBRARY:
        raise NoProgram("a library (DLL)")
    return Program("a PE", ("windows",), (_PE_MACHINES.get(machine, _unknown(machine)),))


def _unknown(machine: int) -> str:
    return f"machine {machine:#x}"
