"""Corpus: what members are, how they are packed, and their two records."""

import stat

from tests.builders.archives import Case
from tests.builders.zips import Member, build, deflated, descriptor, extra, streamed

TEXT = b"locals {}\n" * 50
PLAIN = Member("main.tf", TEXT)
STAMP = extra(0x5455, b"\x03" + bytes(8))  # Info-ZIP's times


def cases() -> list[Case]:
    return [*_types(), *_packing(), *_contents(), *_records(), *_descriptors()]


def _one(code: str | None, title: str, member: Member) -> Case:
    name = member.raw_name.decode()
    return Case(title, build([Member("first.tf", b"1"), member, Member("last.tf", b"2")]), code, name if code else "")


def _types() -> list[Case]:
    def of(mode: int, name: str = "main.tf", data: bytes = b"") -> Member:
        return Member(name, data, mode=mode, method=0)

    return [
        _one("file_type", "a symlink", of(stat.S_IFLNK | 0o777, data=b"/etc/passwd")),
        _one("file_type", "a symlink named like a folder", of(stat.S_IFLNK | 0o777, "a/")),
        _one("file_type", "a character device", of(stat.S_IFCHR | 0o666)),
        _one("file_type", "a block device", of(stat.S_IFBLK | 0o666)),
        _one("file_type", "a fifo", of(stat.S_IFIFO | 0o666)),
        _one("file_type", "a socket", of(stat.S_IFSOCK | 0o666)),
        _one("file_type", "an unknown type", of(0o150000)),
        _one("file_type", "a setuid file", of(0o104755)),
        _one("file_type", "a setgid file", of(0o102755)),
        _one("file_type", "a folder named like a file", of(0o040755, "a")),
        _one("file_type", "a file named like a folder", of(0o100644, "a/")),
        _one("file_type", "a folder with bytes in it", Member("a/", b"x", method=0)),
        _one("file_type", "a DOS folder named like a file", Member("a", attributes=0x10)),
        _one(None, "an executable", of(0o100755)),
        _one(None, "a sticky file without a type", of(0o000644)),
        _one(None, "a setgid folder", of(0o042775, "a/")),
        _one(None, "a DOS folder", Member("a/", attributes=0x10, method=0)),
        _one(None, "a DOS file", Member("a.tf", TEXT, attributes=0x20)),
        _one(None, "a deflated empty folder", Member("a/")),
    ]


def _packing() -> list[Case]:
    numbers = (1, 9, 12, 14, 93)
    methods = [_one("method", f"method {number}", Member("main.tf", TEXT, method=number)) for number in numbers]
    return [
        *methods,
        _one(None, "stored", Member("main.tf", TEXT, method=0)),
        _one(None, "deflated", PLAIN),
        _one(None, "an effort flag", Member("main.tf", TEXT, flags=2)),
        _one(None, "an effort flag in one record", Member("main.tf", TEXT, flags=6, local_flags=0)),
        _one("encrypted", "encrypted", Member("main.tf", TEXT, flags=1)),
        _one("encrypted", "strongly encrypted", Member("main.tf", TEXT, flags=1 << 6)),
        _one("encrypted", "masked headers", Member("main.tf", TEXT, flags=1 << 13)),
        _one("flags", "patched data", Member("main.tf", TEXT, flags=1 << 5)),
        _one("flags", "an unknown flag", Member("main.tf", TEXT, flags=1 << 15)),
        _one(None, "version 6.3 of the format", Member("main.tf", TEXT, needed=63)),
        _one("version_needed", "version 6.4 of the format", Member("main.tf", TEXT, needed=64)),
        _one(
            "version_needed", "version 6.4 in the directory alone", Member("main.tf", TEXT, needed=64, local_needed=20)
        ),
        _one("version_needed", "version 6.4 in the local record", Member("main.tf", TEXT, local_needed=64)),
        _one("version_needed", "a host in the version", Member("main.tf", TEXT, needed=3 << 8 | 20)),
        _one("zip64", "zip64 sizes in the directory", Member("main.tf", TEXT, extra=extra(1, bytes(16)))),
        _one(None, "times in extra fields", Member("main.tf", TEXT, extra=STAMP, local_extra=STAMP)),
        _one("extra_field", "a cut extra field", Member("main.tf", TEXT, extra=STAMP[:-1])),
        _one("extra_field", "three stray extra bytes", Member("main.tf", TEXT, extra=STAMP + bytes(3))),
        _one("extra_field", "a cut local extra field", Member("main.tf", TEXT, local_extra=STAMP[:-1])),
    ]


def _contents() -> list[Case]:
    packed = deflated(TEXT)
    return [
        _one("crc_mismatch", "a wrong CRC", Member("main.tf", TEXT, crc=1)),
        _one("crc_mismatch", "a wrong CRC, stored", Member("main.tf", TEXT, method=0, crc=1)),
        _one("crc_mismatch", "a changed byte", Member("main.tf", TEXT, method=0, packed=b"x" + TEXT[1:])),
        _one("size_mismatch", "a size one too small", Member("main.tf", TEXT, size=len(TEXT) - 1)),
        _one("size_mismatch", "a size one too large", Member("main.tf", TEXT, size=len(TEXT) + 1)),
        _one("size_mismatch", "stored with two sizes", Member("main.tf", TEXT, method=0, size=len(TEXT) + 1)),
        _one("deflate", "no deflate stream", Member("main.tf", TEXT, packed=b"\xff" * 20)),
        _one("deflate", "a cut stream", Member("main.tf", TEXT, packed=packed[:-2])),
        _one("deflate", "no bytes for a deflated file", Member("main.tf", packed=b"")),
        _one("deflate", "bytes after the stream", Member("main.tf", TEXT, packed=packed + b"?")),
        _one("deflate", "many bytes after the stream", Member("main.tf", TEXT, packed=packed + bytes(200_000))),
        _one("deflate", "a second stream", Member("main.tf", TEXT, packed=packed + packed)),
        _one(None, "an empty deflated file", Member("main.tf")),
        _one(None, "an empty stored file", Member("main.tf", method=0)),
        _one(None, "exactly two steps", Member("main.tf", b"x" * (1 << 17))),
    ]


def _records() -> list[Case]:
    crc, packed, size = PLAIN.facts
    wide = extra(1, size.to_bytes(8, "little") + packed.to_bytes(8, "little"))
    half = extra(1, bytes(8))
    other = extra(1, b"\1" * 16)
    full = (crc, 0xFFFFFFFF, 0xFFFFFFFF)
    code = "local_mismatch"
    return [
        _one(code, "another local name", Member("main.tf", TEXT, local_name=b"evil.tf")),
        _one(code, "a longer local name", Member("main.tf", TEXT, packed=deflated(TEXT)[2:], local_name=b"main.tfxx")),
        _one(code, "another local method", Member("main.tf", TEXT, local_method=0)),
        _one(code, "another local flag", Member("main.tf", TEXT, local_flags=1 << 11)),
        _one(code, "another local CRC", Member("main.tf", TEXT, local_facts=(1, packed, size))),
        _one(code, "another local packed size", Member("main.tf", TEXT, local_facts=(crc, packed - 1, size))),
        _one(code, "another local size", Member("main.tf", TEXT, local_facts=(crc, packed, size + 1))),
        _one(code, "zeros without a descriptor", Member("main.tf", TEXT, local_facts=(0, 0, 0))),
        _one(code, "no local record", Member("main.tf", TEXT, local_signature=b"PK\x03\x05")),
        _one(None, "local zip64 sizes that agree", Member("main.tf", TEXT, local_facts=full, local_extra=wide)),
        _one(
            code,
            "local zip64 sizes that differ",
            Member("main.tf", TEXT, local_facts=full, local_extra=other),
        ),
        _one(
            "zip64",
            "half a local zip64 field",
            Member("main.tf", TEXT, local_facts=full, local_extra=half),
        ),
    ]


def _descriptors() -> list[Case]:
    good = descriptor(PLAIN)
    wide = descriptor(PLAIN, wide=True)
    code = "descriptor_mismatch"
    return [
        _one(None, "a descriptor", streamed("main.tf", TEXT)),
        _one(None, "a descriptor without signature", streamed("main.tf", TEXT, signed=False)),
        _one(None, "a descriptor with 8-byte sizes", streamed("main.tf", TEXT, wide=True)),
        _one(None, "a descriptor, local facts known", Member("main.tf", TEXT, flags=8, after=good)),
        _one(code, "a descriptor with another CRC", streamed("main.tf", TEXT, after=good[:4] + b"\0\0\0\0" + good[8:])),
        _one(code, "a descriptor with another size", streamed("main.tf", TEXT, after=good[:-4] + b"\1\0\0\0")),
        _one(code, "a descriptor with another signature", streamed("main.tf", TEXT, after=b"PK\x07\x09" + good[4:])),
        _one(code, "an announced descriptor that is missing", streamed("main.tf", TEXT, after=b"")),
        _one(code, "a descriptor and one byte", streamed("main.tf", TEXT, after=good + b"?")),
        _one(code, "8-byte sizes that nothing announced", streamed("main.tf", TEXT, after=wide)),
        _one("gap", "a descriptor that nobody announced", Member("main.tf", TEXT, after=good)),
    ]
