"""Corpus: the file as a whole, its end record, its directory, its cost."""

import bz2
import gzip
import io
import lzma
import struct
import tarfile

from tests.builders.archives import Case, module_zip
from tests.builders.zips import Member, build, ending, local, quoted_bomb, zeros_bomb

MAIN = Member("main.tf", b"locals {}\n")
OTHER = Member("other.tf", b"# other\n", method=0)
TWO = [MAIN, OTHER]
GOOD = build(TWO)


def cases() -> list[Case]:
    return [*_kinds_of_file(), *_ends(), *_places(), *_costs()]


def _tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("main.tf"))
    return buffer.getvalue()


def _kinds_of_file() -> list[Case]:
    return [
        Case("a good module", module_zip()),
        Case("no members at all", build([])),
        Case("0 bytes", b"", "empty"),
        Case("a tar", _tar(), "not_a_zip"),
        Case("a tar.gz", gzip.compress(_tar(), mtime=0), "not_a_zip"),
        Case("a tar.xz", lzma.compress(_tar()), "not_a_zip"),
        Case("a tar.bz2", bz2.compress(_tar()), "not_a_zip"),
        Case("a 7z", b"7z\xbc\xaf\x27\x1c" + bytes(60), "not_a_zip"),
        Case("a rar", b"Rar!\x1a\x07\x01\x00" + bytes(60), "not_a_zip"),
        Case("an HTML page", b"\n<!DOCTYPE html><title>404</title>", "not_a_zip"),
        Case("a PDF", b"%PDF-1.7\n", "not_a_zip"),
        Case("one byte", b"P", "not_a_zip"),
        Case("zero bytes", bytes(1000), "not_a_zip"),
        Case("cut in the data", GOOD[:40], "truncated"),
        Case("cut in the directory", GOOD[:-40], "truncated"),
        Case("cut by one byte", GOOD[:-1], "truncated"),
        Case("a comment cut by one byte", build(TWO, comment=b"abc")[:-1], "truncated"),
    ]


def _ends() -> list[Case]:
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(GOOD), 1)
    commit = b"0123456789abcdef0123456789abcdef01234567"
    return [
        Case("a commit id as comment", build(TWO, comment=commit)),
        Case("a comment of 256 characters", build(TWO, comment=b"c" * 256)),
        Case("a comment of 257 characters", build(TWO, comment=b"c" * 257), "comment"),
        Case("a comment with a line break", build(TWO, comment=b"a\nb"), "comment"),
        Case("a comment with PK", build(TWO, comment=b"see PK"), "comment"),
        Case("a comment with pk", build(TWO, comment=b"see pk")),
        Case("a comment in Latin-1", build(TWO, comment=b"caf\xe9"), "comment"),
        Case("an end record in the comment", build(TWO, comment=ending(0, 0, 0)), "comment"),
        Case("one byte after the end", build(TWO, suffix=b"\n"), "trailing_bytes"),
        Case("a second zip after the end", GOOD + GOOD[:50], "trailing_bytes"),
        Case("zip64: the count is full", build(TWO, entries=0xFFFF, here=0xFFFF), "zip64"),
        Case("zip64: the offset is full", build(TWO, directory_at=0xFFFFFFFF), "zip64"),
        Case("zip64: a locator", build(TWO, before_ending=locator), "zip64"),
        Case("part 2 of a split archive", build(TWO, disk=1), "multi_disk"),
        Case("counts that differ", build(TWO, here=1), "multi_disk"),
        Case("65,001 entries", build([], entries=65_001), "too_many_entries"),
        Case("65,000 empty entries", lambda: _many(65_000)),
        Case(
            "65,001 real entries",
            lambda: _many(65_001),
            "too_many_entries",
        ),
        Case("a directory of 17 MiB", build(TWO, directory_size=17 << 20), "too_large_directory"),
    ]


def _many(count: int) -> bytes:
    return build([Member(f"{number}.tf", method=0) for number in range(count)])


def _places() -> list[Case]:
    length = len(local(MAIN))
    return [
        Case("a program in front", build(TWO, prefix=b"#!/bin/sh\n"), "prefix_bytes"),
        Case("a program in front, offsets mended", build(TWO, prefix=b"#!/bin/sh\n", shift=10), "prefix_bytes"),
        Case("an empty zip after a program", build([], prefix=b"#!/bin/sh\n"), "prefix_bytes"),
        Case("an empty zip after a program, mended", build([], prefix=b"#!/bin/sh\n", shift=10), "prefix_bytes"),
        Case("the directory not where it is said", build(TWO, directory_at=5), "directory_misplaced"),
        Case("the directory past the end", build(TWO, directory_at=1 << 30), "directory_misplaced"),
        Case("bytes between directory and end", build(TWO, before_ending=b"??"), "directory_misplaced"),
        Case("one record too few", build(TWO, entries=1), "directory_malformed"),
        Case("one record too many", build(TWO, entries=3), "directory_malformed"),
        Case("a gap before the directory", build(TWO, before_directory=b"??"), "gap", "other.tf"),
        Case("a gap between members", build([Member("main.tf", b"x", after=b"?"), OTHER]), "gap", "main.tf"),
        Case("two names for the same data", build([MAIN, Member("b.tf", b"locals {}\n", at=0)]), "overlap", "main.tf"),
        Case("a record inside another", build([MAIN, Member("other.tf", b"x", at=length - 4)]), "overlap", "main.tf"),
        Case("an offset past the end", build([MAIN, Member("other.tf", b"x", at=1 << 30)]), "gap", "main.tf"),
        Case("records in another order than the directory", _swapped()),
    ]


def _swapped() -> bytes:
    """The directory may list members in any order, as long as the records lie side by side."""
    first = len(local(MAIN))
    second = Member(OTHER.name, OTHER.data, method=0, at=first)
    whole = build([Member(MAIN.name, MAIN.data, at=0), second])
    start = first + len(local(OTHER))
    middle = start + 46 + len(MAIN.raw_name)
    end = middle + 46 + len(OTHER.raw_name)
    return whole[:start] + whole[middle:end] + whole[start:middle] + whole[end:]


def _costs() -> list[Case]:
    mib = 1 << 20
    return [
        Case("64 MiB of zeros", lambda: zeros_bomb(64 * mib)),
        Case("65 MiB of zeros", lambda: zeros_bomb(65 * mib), "ratio"),
        Case("513 MiB in one file", lambda: zeros_bomb(513 * mib), "too_large_file", "0.tf"),
        Case("600 MiB in two files", lambda: zeros_bomb(300 * mib, count=2), "too_large_unpacked"),
        Case("300 MiB that say 1000 bytes", lambda: zeros_bomb(300 * mib, declared=1000), "size_mismatch", "0.tf"),
        Case("a quoted overlap bomb", lambda: quoted_bomb(500), "overlap", "00000.tf"),
    ]
