"""Corpus: names of members, alone and beside one another."""

from tests.builders.archives import Case
from tests.builders.zips import Member, build, unicode_path

_LONG = "/".join(["d" * 200] * 5)  # 1004 bytes

GOOD = (
    "main.tf", ".terraform.lock.hcl", "a b.tf", "..a.tf", "a..b.tf", "...tf", "-x", "C.tf", "ab:c.tf", "CONSOLE.tf",
    "COM.tf", "com10.tf", "lpt.tf", "nul-1.tf", "xCON", "straße.tf", "日本/模块.tf", "a%2e%2e.tf", "~/x.tf", "$HOME.tf",
    "<i>.tf", "a'b\".tf", _LONG + "/" + "f" * 19, "/".join(["d"] * 31) + "/f.tf", "modules/", "modules/a/",
)  # fmt: skip
BAD = (
    ("", "name_empty"), ("/", "name_absolute"), ("/etc/passwd", "name_absolute"), ("//x.tf", "name_absolute"),
    ("../x.tf", "name_dots"), ("a/../../x.tf", "name_dots"), ("a/..", "name_dots"), ("..", "name_dots"),
    (".", "name_dots"), ("a/./x.tf", "name_dots"), ("a//x.tf", "name_dots"), ("a//", "name_dots"),
    ("a\\x.tf", "name_backslash"), ("..\\x.tf", "name_backslash"), ("C:/x.tf", "name_drive"), ("c:x.tf", "name_drive"),
    ("a\nb.tf", "name_control"), ("a\x00b.tf", "name_control"), ("a\x1bb.tf", "name_control"),
    ("a\x7f.tf", "name_control"), ("a\u0085.tf", "name_control"), ("a\u2028.tf", "name_control"),
    ("a.", "name_ending"), ("a ", "name_ending"), ("a./x.tf", "name_ending"), ("a /x.tf", "name_ending"),
    ("CON", "name_device"), ("con.tf", "name_device"), ("a/NUL.tar.gz", "name_device"), ("COM1.tf", "name_device"),
    ("lpt9/x.tf", "name_device"), ("aux .tf", "name_device"), ("COM¹.tf", "name_device"),
    (_LONG + "/" + "f" * 20, "name_too_long"), ("/".join(["d"] * 32) + "/f.tf", "name_too_deep"),
)  # fmt: skip


def cases() -> list[Case]:
    good = [Case(f"the name {name[-30:]!r}", build([Member(name)])) for name in GOOD]
    bad = [Case(f"the bad name {name[-30:]!r}", build([Member(name)]), code, _shown(name)) for name, code in BAD]
    return [*good, *bad, *_pairs(), *_encodings()]


def _shown(name: str) -> str:
    """The part of a name that every refusal shows as it is."""
    return name[:20] if name[:20].isprintable() else ""


def _pairs() -> list[Case]:
    def pair(*names: str) -> bytes:
        return build([Member(name) for name in names])

    return [
        Case("a name twice", pair("main.tf", "main.tf"), "duplicate_name", "main.tf"),
        Case("names equal but for case", pair("main.tf", "Main.tf"), "duplicate_name", "Main.tf"),
        Case("names equal after folding", pair("stra\u00dfe.tf", "STRASSE.tf"), "duplicate_name", "STRASSE.tf"),
        Case("one accent, two spellings", pair("caf\u00e9.tf", "cafe\u0301.tf"), "duplicate_name", "cafe"),
        Case("an accent and none", pair("caf\u00e9.tf", "cafe.tf")),
        Case("a name of one letter twice", pair("x", "x"), "duplicate_name", "x"),
        Case("a folder twice", pair("a/", "a/"), "duplicate_name", "a/"),
        Case("folders equal but for case", pair("a/x.tf", "A/y.tf"), "duplicate_name", "A/y.tf"),
        Case("one name in two folders", pair("a/x.tf", "b/x.tf")),
        Case("a folder before its files", pair("a/", "a/x.tf", "a/b/y.tf")),
        Case("a folder after its files", pair("a/x.tf", "a/")),
        Case("a file that is a folder by its record", pair("a", "a/"), "file_and_folder", "a"),
        Case("a folder, then a file of its name", pair("a/", "a"), "file_and_folder", "a"),
        Case("a file that is a folder by a path", pair("a", "a/b.tf"), "file_and_folder", "a"),
        Case("a path, then a file of its folder", pair("x/a/b.tf", "x/a"), "file_and_folder", "x/a"),
        Case("a leading ./", pair("./", "./a/", "./a/x.tf", "./main.tf")),
        Case("a leading ./ at some", pair("./a/x.tf", "a/y.tf")),
        Case("a name with and without ./", pair("x.tf", "./x.tf"), "duplicate_name", "x.tf"),
        Case("a file and a folder, one with ./", pair("./a", "a/b.tf"), "file_and_folder", "a"),
        Case("two leading ./", pair("././x.tf"), "name_dots", "./x.tf"),
        Case("a device after ./", pair("./CON"), "name_device", "CON"),
        Case("a file that begins like a folder", pair("a", "ab/c.tf", "a.tf")),
    ]


def _encodings() -> list[Case]:
    cafe = "caf\u00e9.tf".encode()
    ascii_extra = unicode_path(b"main.tf", b"main.tf")
    lying = unicode_path(b"main.tf", b"../x.tf")
    stale = unicode_path(b"other.tf", b"main.tf")
    return [
        Case("UTF-8 with its flag", build([Member(cafe)])),
        Case("UTF-8 without its flag", build([Member(cafe, flags=0)]), "name_encoding", "caf"),
        Case("Latin-1 with the UTF-8 flag", build([Member(b"caf\xe9.tf")]), "name_encoding", "caf"),
        Case("Latin-1 without the flag", build([Member(b"caf\xe9.tf", flags=0)]), "name_encoding", "caf"),
        Case("overlong UTF-8", build([Member(b"\xc0\xae\xc0\xae/x.tf")]), "name_encoding"),
        Case("ASCII with the UTF-8 flag", build([Member("main.tf", flags=1 << 11)])),
        Case("a Unicode path that agrees", build([Member("main.tf", extra=ascii_extra, local_extra=ascii_extra)])),
        Case("a Unicode path that differs", build([Member("main.tf", extra=lying)]), "unicode_path", "main.tf"),
        Case(
            "a local Unicode path that differs",
            build([Member("main.tf", local_extra=lying)]),
            "unicode_path",
            "main.tf",
        ),
        Case("a stale Unicode path", build([Member("main.tf", extra=stale)]), "unicode_path", "main.tf"),
    ]
