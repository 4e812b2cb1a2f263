"""Tars written block by block, so that each field can lie. Sizes and sums are right unless a test says otherwise."""

import gzip
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BLOCK = 512
POSIX, GNU, OLD = b"ustar\x0000", b"ustar  \0", bytes(8)
END = bytes(2 * BLOCK)


@dataclass(frozen=True, slots=True)
class Item:
    """One member. What is None follows from the rest; `before` are headers about it."""

    name: str | bytes
    data: bytes = b""
    kind: bytes = b"0"
    mode: int = 0o644
    magic: bytes = POSIX
    prefix: bytes = b""
    link: bytes = b""
    size: int | None = None
    size_field: bytes | None = None
    mode_field: bytes | None = None
    checksum: bytes | None = None
    rest: bytes = b""  # after the prefix
    before: bytes = b""

    @property
    def raw_name(self) -> bytes:
        return self.name if isinstance(self.name, bytes) else self.name.encode()

    @property
    def blocks(self) -> bytes:
        return self.before + header(self) + padded(self.data)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % BLOCK)


def header(item: Item) -> bytes:
    size = len(item.data) if item.size is None else item.size
    fields = [
        (0, item.raw_name[:100]),
        (100, item.mode_field or b"%07o\0" % item.mode),
        (108, b"0000000\0" * 2),
        (124, item.size_field or b"%011o\0" % size),
        (136, b"00000000000\0"),
        (148, b" " * 8),
        (156, item.kind),
        (157, item.link),
        (257, item.magic),
        (345, item.prefix),
        (500, item.rest),
    ]
    block = bytearray(BLOCK)
    for at, value in fields:
        block[at : at + len(value)] = value
    block[148:156] = item.checksum or b"%06o\0 " % sum(block)
    return bytes(block)


def record(key: str, value: str | bytes) -> bytes:
    """One extended record with its true length."""
    body = b" " + key.encode() + b"=" + (value.encode() if isinstance(value, str) else value) + b"\n"
    length = len(body)
    while length != len(str(length)) + len(body):
        length = len(str(length)) + len(body)
    return str(length).encode() + body


def pax(records: Mapping[str, str | bytes] | bytes, kind: bytes = b"x") -> bytes:
    """An extended header; `records` as bytes are taken as they are."""
    data = records if isinstance(records, bytes) else b"".join(record(key, value) for key, value in records.items())
    return Item("PaxHeaders/x" if kind == b"x" else "pax_global_header", data, kind=kind).blocks


def long_name(name: str | bytes, kind: bytes = b"L", end: bytes = b"\0") -> bytes:
    raw = name if isinstance(name, bytes) else name.encode()
    return Item("././@LongLink", raw + end, kind=kind, magic=GNU).blocks


def with_path(name: str, data: bytes = b"", **records: str) -> Item:
    """A member with its name in an extended header, where tools put names that do not fit."""
    ascii_name = name.encode("ascii", "replace")[:100]
    return Item(ascii_name, data, before=pax({"path": name, **records}))


def tar(items: Sequence[Item], *, end: bytes = END, prefix: bytes = b"") -> bytes:
    return prefix + b"".join(item.blocks for item in items) + end


def gz(data: bytes) -> bytes:
    """The same bytes for the same data."""
    return gzip.compress(data, mtime=0)


def xz(data: bytes, preset: int = 0) -> bytes:
    return lzma.compress(data, preset=preset)


def module_tar(files: Mapping[str, str | bytes], *, top: str = "") -> bytes:
    """A plain tar of the files, below the folder where one is given."""
    contents = {top + name: text.encode() if isinstance(text, str) else text for name, text in files.items()}
    return tar([Item(name, data) for name, data in contents.items()])
