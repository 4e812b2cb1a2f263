"""Zips written byte by byte, so that each field can lie. Offsets and sizes are right unless a test says otherwise."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

FILE, FOLDER = 0o100644, 0o040755
UNIX = 3 << 8 | 20
STAMP = (0, 0x21)  # 1980-01-01, so that the same input gives the same bytes


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def extra(kind: int, data: bytes) -> bytes:
    """One extra field."""
    return struct.pack("<HH", kind, len(data)) + data


def unicode_path(header_name: bytes, name: bytes) -> bytes:
    return extra(0x7075, b"\x01" + struct.pack("<L", zlib.crc32(header_name)) + name)


@dataclass(frozen=True, slots=True)
class Member:
    """One member. What is None follows from the rest; `local_*` differ from the directory only where they are given."""

    name: str | bytes
    data: bytes = b""
    method: int = 8
    needed: int = 20
    flags: int | None = None
    mode: int | None = None
    attributes: int | None = None
    made_by: int = UNIX
    packed: bytes | None = None  # the bytes that lie in the file
    size: int | None = None
    crc: int | None = None
    packed_size: int | None = None
    at: int | None = None
    extra: bytes = b""
    local_name: bytes | None = None
    local_needed: int | None = None
    local_flags: int | None = None
    local_method: int | None = None
    local_facts: tuple[int, int, int] | None = None  # CRC, packed, unpacked
    local_extra: bytes = b""
    local_signature: bytes = b"PK\x03\x04"
    after: bytes = b""  # a data descriptor, or a gap

    @property
    def raw_name(self) -> bytes:
        return self.name if isinstance(self.name, bytes) else self.name.encode()

    @property
    def body(self) -> bytes:
        if self.packed is not None:
            return self.packed
        return deflated(self.data) if self.method == 8 else self.data

    @property
    def facts(self) -> tuple[int, int, int]:
        """CRC, packed and unpacked size as the directory has them."""
        return (
            zlib.crc32(self.data) if self.crc is None else self.crc,
            len(self.body) if self.packed_size is None else self.packed_size,
            len(self.data) if self.size is None else self.size,
        )

    @property
    def all_flags(self) -> int:
        return (0 if self.raw_name.isascii() else 1 << 11) if self.flags is None else self.flags

    @property
    def all_attributes(self) -> int:
        if self.attributes is not None:
            return self.attributes
        folder = self.raw_name.endswith(b"/")
        return (self.mode if self.mode is not None else (FOLDER if folder else FILE)) << 16


def local(member: Member) -> bytes:
    """The local record with its data and what follows it."""
    name = member.raw_name if member.local_name is None else member.local_name
    flags = member.all_flags if member.local_flags is None else member.local_flags
    method = member.method if member.local_method is None else member.local_method
    needed = member.needed if member.local_needed is None else member.local_needed
    facts = member.facts if member.local_facts is None else member.local_facts
    lengths = (len(name), len(member.local_extra))
    header = struct.pack("<4s5H3L2H", member.local_signature, needed, flags, method, *STAMP, *facts, *lengths)
    return header + name + member.local_extra + member.body + member.after


def central(member: Member, at: int) -> bytes:
    """The directory record of a member whose local record is at `at`."""
    lengths = (len(member.raw_name), len(member.extra), 0, 0, 0)
    header = struct.pack(
        "<4s6H3L5H2L",
        b"PK\x01\x02",
        member.made_by,
        member.needed,
        member.all_flags,
        member.method,
        *STAMP,
        *member.facts,
        *lengths,
        member.all_attributes,
        at if member.at is None else member.at,
    )
    return header + member.raw_name + member.extra


def ending(
    entries: int, size: int, at: int, *, comment: bytes = b"", disk: int = 0, here: int | None = None, said: int = -1
) -> bytes:
    """The end record. `said` lies about the comment's length."""
    length = len(comment) if said < 0 else said
    counts = (disk, disk, entries if here is None else here, entries)
    return struct.pack("<4s4H2LH", b"PK\x05\x06", *counts, size, at, length) + comment


def build(
    members: Sequence[Member],
    *,
    prefix: bytes = b"",
    shift: int = 0,
    before_directory: bytes = b"",
    before_ending: bytes = b"",
    suffix: bytes = b"",
    comment: bytes = b"",
    entries: int | None = None,
    disk: int = 0,
    here: int | None = None,
    directory_size: int | None = None,
    directory_at: int | None = None,
) -> bytes:
    """A zip of the members. `prefix` bytes come first; offsets count them only by as much as `shift` says."""
    body, directory = b"", b""
    parts, offsets, at = [], [], shift
    for member in members:
        parts.append(local(member))
        offsets.append(at)
        at += len(parts[-1])
    body = b"".join(parts) + before_directory
    directory = b"".join(map(central, members, offsets))
    end = ending(
        len(members) if entries is None else entries,
        len(directory) if directory_size is None else directory_size,
        at + len(before_directory) if directory_at is None else directory_at,
        comment=comment,
        disk=disk,
        here=here,
    )
    return prefix + body + directory + before_ending + end + suffix


def descriptor(member: Member, *, signed: bool = True, wide: bool = False) -> bytes:
    """The data descriptor that is true for the member."""
    return (b"PK\x07\x08" if signed else b"") + struct.pack("<LQQ" if wide else "<LLL", *member.facts)


def streamed(name: str, data: bytes, *, signed: bool = True, wide: bool = False, after: bytes | None = None) -> Member:
    """A member as a tool writes it that cannot seek back: zeros first, the facts after the data."""
    plain = Member(name, data)
    zeros = (0, 0xFFFFFFFF, 0xFFFFFFFF) if wide else (0, 0, 0)
    return Member(
        name,
        data,
        flags=1 << 3,
        local_facts=zeros,
        local_extra=extra(1, bytes(16)) if wide else b"",
        after=descriptor(plain, signed=signed, wide=wide) if after is None else after,
    )


def zeros_bomb(size: int, *, count: int = 1, declared: int | None = None) -> bytes:
    """`count` members of `size` zero bytes each, a thousandth of it packed. `declared`: the size that they admit."""
    block = bytes(1 << 20)
    packer, crc = zlib.compressobj(9, zlib.DEFLATED, -15), 0
    # After a full flush nothing refers back, so one packed block can be repeated instead of packed again.
    again = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    for _ in range(size >> 20):
        crc = zlib.crc32(block, crc)
    body = again * (size >> 20) + deflated(b"")
    told = size if declared is None else declared
    return build([Member(f"{number}.tf", packed=body, size=told, crc=crc) for number in range(count)])


def quoted_bomb(count: int) -> bytes:
    """Fifield's bomb: each member's data runs on through all later records, quoted, to one kernel at the end."""
    kernel = deflated(bytes(1 << 16))
    names = [f"{number:05}.tf".encode() for number in range(count)]
    body, offsets, sizes = b"", [], []
    tail, size = kernel, 1 << 16
    crc = zlib.crc32(bytes(1 << 16))
    for name in reversed(names):
        header = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, *STAMP, crc, len(tail), size, len(name), 0) + name
        offsets.append(len(header) + len(tail))
        sizes.append((crc, len(tail), size))
        body = header + tail
        quote = b"\x00" + struct.pack("<HH", len(header), len(header) ^ 0xFFFF)
        crc, size = zlib.crc32(bytes(1 << 16), zlib.crc32(header)), size + len(header)
        tail = quote + body
    total = len(body)
    members = [
        Member(name, packed=b"", crc=facts[0], packed_size=facts[1], size=facts[2], at=total - offset)
        for name, facts, offset in zip(names, reversed(sizes), reversed(offsets), strict=True)
    ]
    directory = b"".join(central(member, 0) for member in members)
    return body + directory + ending(count, len(directory), total)
