"""Thousands of damaged archives: a listing or a refusal comes out, never another exception, and at a bounded cost."""

import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from apps.lib.archives import sandboxed
from tests.builders.archives import module_zip
from tests.builders.tars import GNU, Item, gz, long_name, pax, tar, with_path, xz
from tests.builders.zips import Member, build, extra, streamed
from tests.rows import for_each_row

LIMITS = sandboxed.Limits(unpacked_bytes=1 << 20, file_bytes=1 << 20, memory_bytes=160 << 20, seconds=10)
ZIP_WORDS = (b"\x00\x00\x00\x00", b"\xff\xff\xff\xff", b"\xff\xff", b"\x7f\xff\xff\xff", b"PK\x05\x06", b"PK\x01\x02")
TAR_WORDS = (bytes(512), b"\xff" * 12, b"00000000000\0", b"77777777777\0", b"x", b"g", b"L", b"5", b"30 path=", b"\0")
ZIPS = (
    module_zip(comment=b"0123456789abcdef"),
    build([streamed("main.tf", b"a = 1\n" * 99), streamed("b.tf", b"", signed=False), Member("d/")]),
    build([Member("\u00fc.tf", b"x" * 300, extra=extra(0x5455, bytes(9))), Member("y.tf", b"y", method=0)]),
)
LONG = "modules/" + "n" * 120 + ".tf"
TARS = (
    tar([Item("./", kind=b"5"), Item("./main.tf", b"a = 1\n" * 99), Item("./d", kind=b"5")]),
    tar([Item("m/x.tf", b"x", before=pax({"comment": "0123"}, b"g")), with_path(LONG, b"y" * 700, mtime="1.5")]),
    tar([Item(LONG[:100], b"x", magic=GNU, before=long_name(LONG)), Item("y.tf", b"y", prefix=b"a/b")]),
)


def mutated(rng: random.Random, source: bytes, words: tuple[bytes, ...]) -> bytes:
    data = bytearray(source)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at, length = rng.randrange(len(data)), rng.randrange(1, 20)
        how = rng.randrange(5)
        if how == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            word = rng.choice(words)
            data[at : at + len(word)] = word
        elif how == 2:
            del data[at : at + length]
        elif how == 3:
            data[at:at] = rng.randbytes(length)
        else:
            data[at:at] = data[at : at + length]
    return bytes(data)


def mutated_zip(rng: random.Random) -> bytes:
    return mutated(rng, rng.choice(ZIPS), ZIP_WORDS)


def mutated_tar(rng: random.Random) -> bytes:
    """A damaged tar in a whole gzip file, half of the time with checksums that are right again."""
    data = bytearray(mutated(rng, rng.choice(TARS), TAR_WORDS))
    for at in range(0, len(data) - 511, 512) if rng.random() < 0.5 else ():
        if any(data[at + 148 : at + 156]):
            data[at + 148 : at + 156] = b" " * 8
            data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
    return gz(bytes(data))


def mutated_gzip(rng: random.Random) -> bytes:
    return mutated(rng, gz(rng.choice(TARS)), ZIP_WORDS)


def mutated_xz(rng: random.Random) -> bytes:
    return mutated(rng, xz(rng.choice(TARS)), ZIP_WORDS)


KINDS: dict[str, tuple[Callable[[random.Random], bytes], sandboxed.Form, int]] = {
    "zip": (mutated_zip, "zip", 50),
    "tar": (mutated_tar, "tar.gz", 40),
    "gzip": (mutated_gzip, "tar.gz", 80),
    "xz": (mutated_xz, "tar.xz", 80),
}


@for_each_row("kind", KINDS)
def test_a_damaged_archive_is_listed_or_refused(kind: str):
    mutant, form, refused = KINDS[kind]
    rng = random.Random(kind)

    found = [codes_of(mutant(rng), form) for _ in range(300)]

    # "unreadable" is the net under the parsers: nothing may have fallen into it.
    assert "unreadable" not in set().union(*found)
    assert sum(map(bool, found)) > 3 * refused


@pytest.mark.slow
@for_each_row("kind", KINDS)
def test_the_child_lists_or_refuses_it_as_well_and_leaves_nothing(tmp_path: Path, kind: str):
    mutant, form, _ = KINDS[kind]
    rng = random.Random(99)
    path = tmp_path / "archive"
    for _ in range(12):
        data = mutant(rng)
        path.write_bytes(data)
        with path.open("rb") as file:
            there = codes(sandboxed.inspect, file, form)
        assert there == codes_of(data, form)
        assert not {"unreadable", "too_expensive", "too_slow"} & there
    assert list(tmp_path.iterdir()) == [path]


def codes_of(data: bytes, form: sandboxed.Form) -> set[str]:
    return codes(sandboxed.read, io.BytesIO(data), form)


def codes(read: Callable[..., sandboxed.Listing], file: BinaryIO, form: sandboxed.Form) -> set[str]:
    """The codes of the refusal; none where there is a listing."""
    try:
        listing = read(file, LIMITS, ["*.tf"], form=form)
    except sandboxed.Refusal as refusal:
        return {reason.code for reason in refusal.reasons}
    return set() if listing.digest else {"no listing"}
