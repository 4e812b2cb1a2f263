"""Corpus of tars: every rule with an archive that breaks it, and near misses that keep it."""

import bz2
import gzip
import lzma
from functools import cache

from apps.lib.archives import sandboxed
from tests.builders.archives import Case
from tests.builders.corpus_names import BAD, GOOD
from tests.builders.tars import END, GNU, OLD, Item, gz, header, long_name, pax, record, tar, with_path, xz

TEXT = b"locals {}\n" * 60
MAIN = Item("main.tf", TEXT)
LONG = "modules/" + "n" * 120 + "/main.tf"
GIT = pax({"comment": "0123456789abcdef0123456789abcdef01234567"}, b"g")


def cases() -> list[Case]:
    return [*_names(), *_kinds(), *_headers(), *_extended(), *_gnu_names(), *_ends(), *_streams(), *_costs()]


def _one(code: str | None, title: str, *items: Item, member: str | None = None) -> Case:
    data = gz(tar([Item("first.tf", b"1"), *items, Item("last.tf", b"2")]))
    named = items[-1].raw_name.decode("latin-1") if member is None else member
    return Case(f"tar: {title}", data, code, named if code else "", form="tar.gz")


def _whole(code: str | None, title: str, data: bytes, form: sandboxed.Form = "tar.gz") -> Case:
    return Case(f"tar: {title}", data, code, form=form)


def _names() -> list[Case]:
    def case(name: str, code: str | None) -> Case:
        kind = b"5" if name.endswith("/") else b"0"
        # What does not fit stands in an extended header.
        item = Item(name, kind=kind) if len(name.encode()) <= 100 else with_path(name)
        shown = name[:20] if name[:20].isprintable() else ""
        data = gz(tar([item]))
        return Case(
            f"tar: the {'bad ' if code else ''}name {name[-30:]!r}", data, code, shown if code else "", form="tar.gz"
        )

    # A leading "./" is what `tar .` writes, a NUL ends a field, and a folder's own record has no size to lie about.
    other = {".", "a\x00b.tf", "", "/"}
    return [
        *(case(name, None) for name in GOOD),
        *(case(name, code) for name, code in BAD if name not in other),
        _one("name_control", "a NUL in an extended name", Item("x", before=pax({"path": "a\0b" * 60})), member=""),
        _one("name_empty", "no name", Item(""), member=""),
        _one("name_absolute", "the folder of everything", Item("/", kind=b"5"), member="/"),
        _one(None, "a leading ./", Item("./", kind=b"5"), Item("./a/", kind=b"5"), Item("./a/x.tf", TEXT)),
        _one(None, "the root as .", Item(".", kind=b"5"), Item("./x.tf")),
        _one("name_dots", "two leading ./", Item("././x.tf"), member="./x.tf"),
        _one("name_dots", "a file named .", Item("."), member="."),
        _one("duplicate_name", "a name with and without ./", Item("x.tf"), Item("./x.tf"), member="x.tf"),
        _one("duplicate_name", "a name twice", MAIN, MAIN),
        _one("duplicate_name", "a name of one letter twice", Item("x"), Item("x"), member="x"),
        _one("duplicate_name", "names equal but for case", MAIN, Item("Main.tf")),
        _one("duplicate_name", "one accent, two spellings", Item("caf\u00e9.tf"), Item("cafe\u0301.tf"), member="cafe"),
        _one("file_and_folder", "a file that is a folder by a path", Item("a"), Item("a/b.tf"), member="a"),
        _one("name_encoding", "a name in Latin-1", Item(b"caf\xe9.tf"), member="caf"),
        _one("name_encoding", "overlong UTF-8", Item(b"\xc0\xae\xc0\xae/x.tf"), member=""),
        _one(None, "a name in UTF-8", Item("caf\u00e9/模块.tf", TEXT)),
        _one(None, "a name in two fields", Item("main.tf", TEXT, prefix=b"a/b")),
        _one("name_dots", "dots in the prefix", Item("main.tf", TEXT, prefix=b"a/.."), member="a/../main.tf"),
    ]


def _kinds() -> list[Case]:
    links = [
        ("1", "a hard link"), ("2", "a symbolic link"), ("3", "a character device"), ("4", "a block device"),
        ("6", "a named pipe"), ("7", "a contiguous file"), ("D", "a dumped folder"), ("M", "a further volume"),
        ("V", "a volume label"), ("Z", "an unknown type"), ("A", "Solaris's access list"), ("\x01", "type one, binary"),
    ]  # fmt: skip
    holes = {
        "0.0": {"GNU.sparse.numblocks": "1", "GNU.sparse.size": "9"},
        "0.1": {"GNU.sparse.map": "0,1", "GNU.sparse.size": "9"},
        "1.0": {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "x", "GNU.sparse.realsize": "9"},
        "star": {"SCHILY.realsize": "99"},
    }
    return [
        *(_one("file_type", title, Item("x", kind=kind.encode(), link=b"/etc/passwd")) for kind, title in links),
        *(_one("file_type", f"{title} with data", Item("x", TEXT, kind=kind.encode())) for kind, title in links[:3]),
        _one("sparse", "holes, old GNU", Item("x", TEXT, kind=b"S", magic=GNU)),
        *(_one("sparse", f"holes, {how}", Item("x", TEXT, before=pax(said))) for how, said in holes.items()),
        _one("file_type", "a setuid file", Item("x", mode=0o4755)),
        _one("file_type", "a setgid file with data", Item("x", TEXT, mode=0o2755)),
        _one("file_type", "a file named like a folder", Item("a/")),
        _one("file_type", "an old file named like a folder", Item("a/", kind=b"\0", magic=OLD)),
        _one("file_type", "a folder with data", Item("a/", TEXT, kind=b"5")),
        _one("file_type", "a file with the mode of a link", Item("x", mode=0o120777)),
        _one("file_type", "a folder with the mode of a file", Item("a/", kind=b"5", mode=0o100755)),
        _one(None, "a file with the mode of a file", Item("x", TEXT, mode=0o100644)),
        _one(None, "a setgid folder", Item("a/", kind=b"5", mode=0o2775)),
        _one(None, "a folder without a slash", Item("a", kind=b"5"), Item("a/x.tf")),
        _one(None, "an executable", Item("run.sh", TEXT, mode=0o755)),
        _one(None, "an old file", Item("x", TEXT, kind=b"\0", magic=OLD)),
        _one(None, "GNU", Item("x", TEXT, magic=GNU)),
    ]


def _headers() -> list[Case]:
    bad = "header_malformed"
    items = {
        "a wrong checksum": Item("x", checksum=b"000001\0 "),
        "a checksum that is no number": Item("x", checksum=b"zzzzzz\0 "),
        "a size that is no number": Item("x", size_field=b"0x0000000020"),
        "a size with a sign": Item("x", size_field=b"-0000000001\0"),
        "a size with an 8": Item("x", size_field=b"00000000018\0"),
        "a size with a gap": Item("x", size_field=b"000\x0000000001\0"),
        "a negative size in base 256": Item("x", size_field=b"\xff" * 12),
        "a mode that is no number": Item("x", mode_field=b"rw-r--r-"),
        "a mode with more than modes have": Item("x", mode_field=b"7777777\0"),
        "another magic": Item("x", magic=b"USTAR\x0000"),
        "another version": Item("x", magic=b"ustar\x0001"),
        "star's own format": Item("x", rest=bytes(8) + b"tar\0"),
        "bytes behind the prefix": Item("x", rest=b"x"),
        "dates of an incremental dump": Item("x", magic=GNU, prefix=b"14714000000\x0014714000000"),
        "a prefix without a version": Item("x", magic=OLD, prefix=b"a"),
    }
    damaged = bytearray(header(MAIN))
    damaged[3] ^= 1
    return [
        *(_one(bad, title, item, member="") for title, item in items.items()),
        _one(bad, "a size too small", Item("x", TEXT, size=80), member=""),
        _one(bad, "a size too large", Item("x", TEXT, size=len(TEXT) + 600), member=""),
        _one("too_large_file", "a size in base 256", Item("x", size_field=b"\x80" + bytes(6) + b"\x01" + bytes(4))),
        _one(None, "a small size in base 256", Item("x", b"1", size_field=b"\x80" + bytes(10) + b"\x01")),
        _one(None, "a size with spaces", Item("x", b"1", size_field=b"          1 ")),
        _one(None, "a size of twelve digits", Item("x", b"1", size_field=b"000000000001")),
        _one(None, "no size", Item("a/", kind=b"5", size_field=bytes(12))),
        _whole(bad, "a damaged first header", gz(bytes(damaged) + END)),
    ]


def _extended() -> list[Case]:
    def said(records: bytes) -> Item:
        return Item("x", TEXT, before=pax(records))

    bad = "pax_malformed"
    size = len(TEXT)
    twice = Item("x", TEXT, before=pax({"mtime": "1"}) + pax({"mtime": "2"}))
    return [
        _one(None, "a long extended name", with_path(LONG, TEXT)),
        _one(None, "an extended name in UTF-8", with_path("caf\u00e9.tf", TEXT)),
        _one(None, "times and attributes", Item("x", TEXT, before=pax({"mtime": "1.5", "SCHILY.xattr.user.x": "\0"}))),
        _one(None, "the same name again", Item("x", TEXT, before=pax({"path": "x"}))),
        _one(None, "the same size again", Item("x", TEXT, before=pax({"size": str(size)}))),
        _one("renamed", "another name", Item("x", TEXT, before=pax({"path": "../evil"})), member="../evil"),
        _one("renamed", "an empty name", Item("x", TEXT, before=pax({"path": ""})), member=""),
        _one("name_dots", "a long way out", with_path("../" * 9 + "e" * 90), member="../"),
        _one("name_encoding", "an extended name in Latin-1", Item("x", before=pax({"path": b"\xe9" * 101})), member=""),
        _one("pax_size", "another size", Item("x", TEXT, before=pax({"size": "0"}))),
        _one("pax_size", "an extended size with a sign", Item("x", TEXT, before=pax({"size": f"+{size}"}))),
        _one("pax_size", "a huge size", Item("x", TEXT, before=pax({"size": "9" * 5000}))),
        _one(bad, "a record too short", said(b"5 a=b\n")),
        _one(bad, "a record too long", said(b"99 a=b\n")),
        _one(bad, "a record of no length", said(b"a=b\n")),
        _one(bad, "a length with a sign", said(b"+6 a=b\n")),
        _one(bad, "a length with zeros", said(b"007 a=b\n")),
        _one(bad, "a length of nothing", said(b"0 a=b\n")),
        _one(bad, "an endless length", said(b"9" * 400)),
        _one(bad, "a record without a key", said(b"5 =b\n")),
        _one(bad, "a record without a value", said(b"4 a\n")),
        _one(bad, "a record without its line's end", said(b"6 a=bc")),
        _one(bad, "a record twice", said(record("path", LONG) + record("path", LONG + "x"))),
        _one("pax_global", "a name for all", Item("x", before=pax({"path": "evil"}, b"g")), member="pax_global"),
        _one("pax_global", "a size for all", Item("x", before=pax({"size": "1"}, b"g")), member="pax_global"),
        _one("pax_global", "holes for all", Item("x", before=pax({"GNU.sparse.major": "1"}, b"g")), member=""),
        _one(None, "git's commit", Item("x", TEXT, before=GIT)),
        _one(None, "git's commit twice", Item("x", TEXT, before=GIT + GIT)),
        _one("header_order", "two headers about one member", twice, member=""),
        _one("header_order", "a commit between", Item("x", TEXT, before=pax({"mtime": "1"}) + GIT), member=""),
        _whole("header_order", "a header about nothing", gz(tar([MAIN], end=pax({"mtime": "1"}) + END))),
        _one("header_too_large", "2 MiB of records", said(record("comment", "x" * (2 << 20))), member=""),
        _one(None, "half a MiB of records", said(record("comment", "x" * (1 << 19)))),
        _whole("truncated", "records that end", gz(Item("x", b"", kind=b"x", size=600).blocks + END[:512])),
    ]


def _gnu_names() -> list[Case]:
    def named(name: str, before: bytes, kind: bytes = b"0") -> Item:
        return Item(name[:100], TEXT, kind, magic=GNU, before=before)

    both = long_name(LONG) + pax({"path": LONG})
    return [
        _one(None, "a long name", named(LONG, long_name(LONG))),
        _one(None, "a long name without a NUL", named(LONG, long_name(LONG, end=b""))),
        _one("renamed", "a long name of another", named("x.tf", long_name("y" * 120)), member="yyy"),
        _one("renamed", "a short long name of another", named("x.tf", long_name("evil.tf")), member="evil.tf"),
        _one("name_dots", "a long name with dots", named("../e" * 25, long_name("../e" * 30)), member="../"),
        _one("name_control", "a long name with a NUL", named("x", long_name(b"x\0y")), member=""),
        _one("name_encoding", "a long name in Latin-1", named("x", long_name(b"x\xe9" * 70)), member=""),
        _one("header_too_large", "a long name of 2000 bytes", named("x", long_name("x" * 2000)), member=""),
        _one("header_order", "two long names", named(LONG, long_name(LONG) * 2), member=""),
        _one("header_order", "long names of two kinds", named(LONG, both), member=""),
        _one("header_order", "the target of no link", named("x", long_name("y", b"K"))),
        _one("file_type", "a link to a long target", named("x", long_name("y" * 120, b"K"), kind=b"2")),
    ]


def _ends() -> list[Case]:
    whole = tar([MAIN])
    return [
        _whole(None, "no members at all", gz(END)),
        _whole(None, "filled to a record", gz(whole + bytes(10240 - len(whole)))),
        _whole(None, "filled to a MiB", gz(tar([MAIN], end=bytes(1 << 20)))),
        _whole("trailing_bytes", "two MiB of zeros at the end", gz(tar([MAIN], end=bytes(2 << 20)))),
        _whole("truncated", "no end", gz(tar([MAIN], end=b""))),
        _whole("truncated", "half an end", gz(tar([MAIN], end=END[:512]))),
        _whole("truncated", "cut in a header", gz(whole[:700])),
        _whole("truncated", "cut in the data", gz(tar([Item("big.tf", bytes(90_000))])[:80_000])),
        _whole(
            "trailing_bytes", "a member behind half an end", gz(tar([MAIN], end=END[:512] + Item("x").blocks + END))
        ),
        _whole("trailing_bytes", "a tar behind the end", gz(whole + whole)),
        _whole("trailing_bytes", "one byte behind the end", gz(whole + bytes(600) + b"x")),
        _whole("not_a_tar", "a text", gz(b"locals {}\n" * 100)),
        _whole("not_a_tar", "a short text", gz(b"locals {}\n")),
        _whole("not_a_tar", "nothing", gz(b"")),
        _whole("not_a_tar", "a zip", gz(b"PK\x03\x04" + b"x" * 600)),
        _whole("not_a_tar", "a program", xz(b"\x7fELF" + b"x" * 600), "tar.xz"),
        _whole("not_a_tar", "a gzip file in a gzip file", gz(gz(whole * 9) + b"x" * 600)),
    ]


def _streams() -> list[Case]:
    whole = tar([Item("x", TEXT, before=GIT), Item("y", bytes(range(256)) * 999)])
    packed, xpacked = gz(whole), xz(whole)
    flipped = bytearray(packed)
    flipped[-6] ^= 1
    xflipped = bytearray(xpacked)
    xflipped[len(xpacked) // 2] ^= 0x10
    wide = lzma.compress(whole, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 256 << 20, "mode": lzma.MODE_FAST}])
    return [
        _whole(None, "xz", xpacked, "tar.xz"),
        _whole(None, "xz -9", xz(whole, 9), "tar.xz"),
        _whole(None, "xz without a check", lzma.compress(whole, check=lzma.CHECK_NONE), "tar.xz"),
        _whole(None, "gzip with a name and a comment", _described(whole)),
        _whole(None, "gzip, stored", gzip.compress(whole, 0, mtime=0)),
        _whole("xz_memory", "xz with a dictionary of 256 MiB", wide, "tar.xz"),
        _whole("truncated", "gzip, cut", packed[:-200]),
        _whole("truncated", "gzip, cut by a byte", packed[:-1]),
        _whole("truncated", "gzip, the header alone", packed[:10]),
        _whole("truncated", "xz, cut", xpacked[:-200], "tar.xz"),
        _whole("truncated", "xz, cut by a byte", xpacked[:-1], "tar.xz"),
        _whole("damaged", "gzip with a wrong CRC", bytes(flipped)),
        _whole("damaged", "gzip with other data in it", packed[:20] + b"\xff" * 50 + packed[70:]),
        _whole("damaged", "gzip with unknown flags", packed[:3] + b"\xe0" + packed[4:]),
        _whole("damaged", "xz with a changed byte", bytes(xflipped), "tar.xz"),
        _whole("damaged", "gzip said to be xz", packed, "tar.xz"),
        _whole("damaged", "xz said to be gzip", xpacked),
        _whole("concatenated", "two gzip members", packed + packed),
        _whole("concatenated", "one tar in two gzip members", gz(whole[:2000]) + gz(whole[2000:])),
        _whole("concatenated", "two xz streams", xpacked + xpacked, "tar.xz"),
        _whole("trailing_bytes", "a byte behind gzip", packed + b"\0"),
        _whole("trailing_bytes", "xz behind gzip", packed + xpacked),
        _whole("trailing_bytes", "zeros behind xz", xpacked + bytes(4), "tar.xz"),
        _whole("damaged", "bzip2", bz2.compress(whole)),
    ]


def _described(data: bytes) -> bytes:
    """A gzip file whose header has every optional field."""
    plain = gz(data)
    return plain[:3] + b"\x1c" + plain[4:10] + b"\x04\0abcd" + b"module.tar\0" + b"a comment\0" + plain[10:]


def _costs() -> list[Case]:
    mib = 1 << 20
    big = Item("0.tf", size=513 * mib)
    return [
        Case("tar: 65 MiB of zeros", lambda: gz(tar([Item("0.tf", bytes(65 * mib))])), "ratio", form="tar.gz"),
        Case("tar: 65 MiB of zeros, xz", lambda: xz(tar([Item("0.tf", bytes(65 * mib))])), "ratio", form="tar.xz"),
        Case("tar: 20 MiB of zeros", lambda: gz(tar([Item("0.tf", bytes(20 * mib))])), form="tar.gz"),
        _whole("too_large_file", "513 MiB in one file", gz(tar([big]))),
        _whole("ratio", "300 MiB that are not there", gz(tar([Item("0.tf", size=300 * mib)], end=bytes(9 * mib)))),
        Case("tar: 65,000 entries", lambda: gz(_blocks()[512:] + END), form="tar.gz"),
        Case("tar: 65,001 entries", lambda: gz(_blocks() + END), "too_many_entries", form="tar.gz"),
    ]


@cache
def _blocks() -> bytes:
    return b"".join(header(Item(f"{number:05}.tf")) for number in range(65_001))
