"""The platform of a program is read from its header, not from the name of the file."""

import pytest

from apps.lib.packages.heads import NoProgram, read_head
from apps.lib.packages.sandboxed import ARCHITECTURES, SYSTEMS
from tests.builders.providers import elf, mach, pe, program, universal
from tests.lib.packages.go_heads import HEADS
from tests.rows import for_each_row

ELFS = tuple(system for system in SYSTEMS if system not in ("darwin", "windows"))
BSDS = ("freebsd", "netbsd", "openbsd")
AMD64, ARM64 = 0x01000007, 0x0100000C
X86_64 = 62


def platforms_of(head: bytes) -> set[str]:
    """Every platform that a program of that head may be published for."""
    read = read_head(head)
    return {f"{system}_{arch}" for system in SYSTEMS for arch in ARCHITECTURES if read.runs_on(system, arch)}


@for_each_row("arch", ARCHITECTURES)
@for_each_row("system", ELFS)
def test_an_elf_is_for_its_architecture_only(system: str, arch: str):
    platforms = platforms_of(program(system, arch))

    assert f"{system}_{arch}" in platforms
    assert {platform.partition("_")[2] for platform in platforms} == {arch}
    assert not {f"windows_{arch}", f"darwin_{arch}"} & platforms


@for_each_row(
    ("mark", "systems"),
    [
        (b"/lib64/ld-linux-x86-64.so.2\0", {"linux"}),
        (b"/lib/ld-musl-x86_64.so.1\0", {"linux"}),
        (b"/lib/amd64/ld.so.1\0", {"solaris", "illumos"}),
        (b"/system/bin/linker64\0", {"android"}),
        (b"\x08\0\0\0\x04\0\0\0\x01\0\0\0OpenBSD\0", {"openbsd"}),
        (b"\x08\0\0\0\x04\0\0\0\x01\0\0\0FreeBSD\0", {"freebsd"}),
        (b"\x0a\0\0\0\x04\0\0\0\x01\0\0\0DragonFly\0", {"dragonfly"}),
        (b"\x04\0\0\0\x53\0\0\0\x04\0\0\0Go\0\0", {"linux", "android", "dragonfly", "solaris", "illumos"}),
        (b"", set(ELFS)),
    ],
    ids=["glibc", "musl", "Solaris", "Android", "OpenBSD", "FreeBSD", "DragonFly", "Go", "nothing"],
)
def test_loaders_and_notes_say_the_system_where_the_head_does_not(mark: bytes, systems: set[str]):
    assert platforms_of(elf(X86_64) + mark) == {f"{system}_amd64" for system in systems}


def test_marks_far_behind_the_head_say_nothing():
    assert platforms_of(elf(X86_64) + bytes(5000) + b"OpenBSD\0") == {f"{system}_amd64" for system in ELFS}


@for_each_row(
    ("head", "platform"),
    [
        *((program(system, "amd64"), f"{system}_amd64") for system in BSDS),
        *((mach(cpu), f"darwin_{arch}") for arch, cpu in (("amd64", AMD64), ("arm64", ARM64), ("386", 7))),
        *((program("windows", arch), f"windows_{arch}") for arch in ("386", "amd64", "arm", "arm64")),
    ],
    ids=lambda value: value if isinstance(value, str) else "head",
)
def test_a_marked_elf_a_mach_o_and_a_pe_are_for_one_platform(head: bytes, platform: str):
    assert platforms_of(head) == {platform}


def test_a_universal_program_is_for_each_of_its_slices():
    assert platforms_of(universal(AMD64, ARM64)) == {"darwin_amd64", "darwin_arm64"}
    assert platforms_of(universal(ARM64)) == {"darwin_arm64"}
    assert "darwin_amd64 and darwin_arm64" in read_head(universal(AMD64, ARM64)).words


@for_each_row(
    ("machine", "bits", "order"),
    [(62, 32, 1), (62, 64, 2), (183, 32, 1), (3, 64, 1), (40, 32, 2), (243, 32, 1), (0, 64, 1), (0xFFFF, 64, 1)],
    ids=["x32", "big amd64", "arm64 of 32 bit", "386 of 64 bit", "big arm", "riscv32", "none", "unknown"],
)
def test_machines_that_go_does_not_know_are_for_no_platform(machine: int, bits: int, order: int):
    head = elf(machine, bits, order)

    assert platforms_of(head) == set()
    assert f"machine {machine:#x}" in read_head(head).words


def test_other_mach_o_and_pe_machines_are_for_no_platform():
    assert platforms_of(mach(18)) == set()
    assert platforms_of(universal(18, AMD64)) == {"darwin_amd64"}
    assert platforms_of(pe(0x0200)) == set()


@for_each_row(
    ("head", "told"),
    [
        (b"", "0 bytes"),
        (b"#!/bin/sh\nexit 0\n", "a script (#!/bin/sh)"),
        (b"#!" + b"\xff\n" * 9, "a script"),
        (b"#!", "a script (#!)"),
        (b"PK\x03\x04", "something else"),
        (b"\x1f\x8b\x08", "a gzip file"),
        (b"<!DOCTYPE html>", "an HTML page"),
        (b"terraform", "something else"),
        (bytes(100), "zero bytes"),
        (elf(X86_64, kind=1), "an object file (ELF)"),
        (elf(X86_64, kind=4), "a core dump (ELF)"),
        (elf(X86_64)[:19], "a damaged program"),
        (b"\x7fELF", "a damaged program"),
        (b"\x7fELF\x03\x01" + bytes(60), "a damaged ELF head"),
        (b"\x7fELF\x02\x00" + bytes(60), "a damaged ELF head"),
        (mach(AMD64, kind=6), "a library (Mach-O)"),
        (mach(AMD64, kind=1), "an object file (Mach-O)"),
        (mach(AMD64)[:15], "a damaged program"),
        (b"\xca\xfe\xba\xbe\x00\x00\x00\x34" + bytes(100), "a Java class"),
        (b"\xca\xfe\xba\xbe" + bytes(100), "universal"),
        (universal(AMD64, ARM64)[:40], ""),
        (universal(AMD64, ARM64)[:20], "a damaged program"),
        (pe(0x8664, flags=0x2022), "a library (DLL)"),
        (b"MZ" + bytes(200), "a DOS program"),
        (b"MZ" + bytes(58) + b"\xff" * 200, "a DOS program"),
        (b"MZ", "a damaged program"),
        (pe(0x8664)[: 0x80 + 10], "a damaged program"),
    ],
    ids=[
        "empty", "a script", "a script of noise", "half a script", "zip", "gzip", "HTML", "text", "zeros",
        "ELF object", "ELF core", "cut ELF", "four bytes of ELF", "ELF class", "ELF order", "dylib", "Mach-O object",
        "cut Mach-O", "Java", "no slices", "the second slice's record whole", "cut universal", "DLL", "DOS", "PE far",
        "two bytes of PE", "cut PE",
    ],
)  # fmt: skip
def test_what_is_no_program_is_called_by_its_name(head: bytes, told: str):
    if not told:
        assert platforms_of(head)
        return
    with pytest.raises(NoProgram) as other:
        read_head(head)

    assert told in str(other.value)


@for_each_row("platform", HEADS)
def test_what_go_built_is_for_that_platform(platform: str):
    system, arch = platform.split("_")
    found = platforms_of(HEADS[platform])

    assert platform in found
    assert not {f"{other}_{arch}" for other in (*BSDS, "darwin", "windows") if other != system} & found
    assert found <= platforms_of(program(system, arch))
