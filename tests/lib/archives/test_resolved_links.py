"""Archives with links: followed and repacked to copies, and bad ones are refused. `test_tools` has those of tools."""

import io
import stat

import pytest

from apps.lib.archives import sandboxed
from apps.lib.archives.child_repacking import ZipWriter
from tests.builders.tars import GNU, OLD, Item, gz, long_name, pax, tar
from tests.builders.zips import Member, build
from tests.lib.archives.test_repack import contents, noise
from tests.rows import for_each_row

LIMITS = sandboxed.Limits()
MIB = 1 << 20
LINK = stat.S_IFLNK | 0o777
SYMBOLIC, HARD = b"2", b"1"


def tarred(*items: Item) -> tuple[bytes, sandboxed.Form]:
    return gz(tar([Item("main.tf", b"x"), *items])), "tar.gz"


def zipped(*members: Member) -> tuple[bytes, sandboxed.Form]:
    return build([Member("main.tf", b"x"), *members]), "zip"


GOOD = {
    "a link in a tar": (tarred(Item("x", kind=SYMBOLIC, link=b"../y")), "symbolic", "../y"),
    "a hard link in a tar": (tarred(Item("x", kind=HARD, link=b"main.tf")), "hard", "main.tf"),
    "an old hard link": (tarred(Item("x", kind=HARD, link=b"main.tf", magic=OLD)), "hard", "main.tf"),
    "a link with its mode": (tarred(Item("x", kind=SYMBOLIC, link=b"y", mode=0o120777)), "symbolic", "y"),
    "a target of 100 bytes": (tarred(Item("x", kind=SYMBOLIC, link=b"y" * 100)), "symbolic", "y" * 100),
    "a long target of GNU": (
        tarred(Item("x", kind=SYMBOLIC, link=b"y" * 100, magic=GNU, before=long_name("y" * 120, b"K"))),
        "symbolic",
        "y" * 120,
    ),
    "a long target of pax": (
        tarred(Item("x", kind=SYMBOLIC, link=b"y" * 100, before=pax({"linkpath": "z" * 120}))),
        "symbolic",
        "z" * 120,
    ),
    "a target in UTF-8": (tarred(Item("x", kind=SYMBOLIC, link="caf\u00e9".encode())), "symbolic", "caf\u00e9"),
    "a link in a zip": (zipped(Member("x", b"../y", mode=LINK, method=0)), "symbolic", "../y"),
    "a deflated link": (zipped(Member("x", b"y", mode=LINK)), "symbolic", "y"),
    "a link of macOS": (zipped(Member("x", b"y", mode=LINK, made_by=19 << 8 | 20)), "symbolic", "y"),
    "no target at all": (zipped(Member("x", b"", mode=LINK)), "symbolic", ""),
}
BAD = {
    "a link with data": (tarred(Item("x", b"y" * 20, kind=SYMBOLIC, link=b"y")), "file_type"),
    "a hard link with data": (tarred(Item("x", b"y" * 20, kind=HARD, link=b"main.tf")), "file_type"),
    "a link named like a folder": (tarred(Item("x/", kind=SYMBOLIC, link=b"y")), "file_type"),
    "a link with the mode of a file": (tarred(Item("x", kind=SYMBOLIC, link=b"y", mode=0o100644)), "file_type"),
    "a hard link with the mode of a link": (tarred(Item("x", kind=HARD, link=b"y", mode=0o120777)), "file_type"),
    "a file behind a link": (tarred(Item("a", kind=SYMBOLIC, link=b"y"), Item("a/b.tf")), "file_and_folder"),
    "a link twice": (tarred(*[Item("x", kind=SYMBOLIC, link=b"y")] * 2), "duplicate_name"),
    "a link and a file of one name": (tarred(Item("main.tf", kind=SYMBOLIC, link=b"other.tf")), "duplicate_name"),
    "a link with a bad name": (tarred(Item("../x", kind=SYMBOLIC, link=b"main.tf")), "name_dots"),
    "a target in Latin-1": (tarred(Item("x", kind=SYMBOLIC, link=b"caf\xe9")), "link_target"),
    "two targets": (
        tarred(Item("x", kind=SYMBOLIC, link=b"y", before=pax({"linkpath": "y"}) + long_name("y", b"K"))),
        "header_order",
    ),
    "another target": (tarred(Item("x", kind=SYMBOLIC, link=b"y", before=pax({"linkpath": "z"}))), "renamed"),
    "another long target": (
        tarred(Item("x", kind=SYMBOLIC, link=b"z", magic=GNU, before=long_name("y" * 120, b"K"))),
        "renamed",
    ),
    "a device beside a link": (tarred(Item("x", kind=SYMBOLIC, link=b"y"), Item("d", kind=b"3")), "file_type"),
    "a link of Windows": (zipped(Member("x", b"y", mode=LINK, made_by=20)), "file_type"),
    "a link that is a DOS folder": (zipped(Member("x", b"y", attributes=LINK << 16 | 0x10)), "file_type"),
    "a zip's link named like a folder": (zipped(Member("x/", b"y", mode=LINK)), "file_type"),
    "a zip's target in Latin-1": (zipped(Member("x", b"\xe9", mode=LINK)), "link_target"),
    "a target of 2000 bytes": (zipped(Member("x", b"y" * 2000, mode=LINK)), "link_target"),
    "a target with a wrong CRC": (zipped(Member("x", b"y", mode=LINK, crc=1)), "crc_mismatch"),
    "a zip's file behind a link": (zipped(Member("a", b"y", mode=LINK), Member("a/b.tf")), "file_and_folder"),
    "a fifo": (zipped(Member("x", mode=stat.S_IFIFO)), "file_type"),
}


def read(archive: tuple[bytes, sandboxed.Form], *, links: bool) -> sandboxed.Listing:
    return sandboxed.read(io.BytesIO(archive[0]), LIMITS, ["*"], form=archive[1], links=links)


@for_each_row(("archive", "kind", "target"), GOOD.values(), ids=GOOD)
def test_links_are_listed_for_those_who_follow_them_and_refused_for_all_others(archive, kind, target):
    listing = read(archive, links=True)

    link = listing.entries[-1]
    assert (link.link, link.target, link.size, link.is_dir) == (kind, target, 0, False)
    assert list(listing.texts) == ["main.tf"]
    with pytest.raises(sandboxed.Refusal) as refusal:
        read(archive, links=False)
    assert refusal.value.reasons[0].code == "file_type"


@for_each_row(("archive", "code"), BAD.values(), ids=BAD)
def test_what_two_readers_could_read_differently_is_refused_with_links_too(archive, code):
    with pytest.raises(sandboxed.Refusal) as refusal:
        read(archive, links=True)

    assert refusal.value.reasons[0].code == code


def test_a_copy_comes_from_wherever_its_member_lies(repack):
    data = gz(tar([Item("m/main.tf", b"1"), Item("m/x.tf", kind=SYMBOLIC, link=b"../y.tf"), Item("y.tf", b"2")]))

    assert contents(repack(data, copies={"y.tf": ["m/x.tf"]}, folder="m")) == {"main.tf": b"1", "x.tf": b"2"}


def test_a_large_file_is_written_under_each_of_its_names(repack):
    data = noise(3 * MIB)
    archive = gz(tar([Item("a.bin", data), Item("b.bin", kind=HARD, link=b"a.bin"), Item("c.tf", b"3")]))

    assert contents(repack(archive, copies={"a.bin": ["b.bin", "d/a.bin"]})) == {
        "a.bin": data, "b.bin": data, "d/a.bin": data, "c.tf": b"3",
    }  # fmt: skip


def test_a_linked_file_that_would_fill_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr("apps.lib.archives.child_repacking._MAX_LINKED_BYTES", MIB)
    written: list[bytes] = []

    entry = sandboxed.Entry("a.bin", 2 * MIB, 0o644, is_dir=False)

    ZipWriter(written.append).add(entry, ["a.bin"], [noise(2 * MIB)])
    with pytest.raises(sandboxed.Refusal) as refusal:
        ZipWriter(written.append).add(entry, ["a.bin", "b.bin"], [noise(2 * MIB)])

    assert (refusal.value.reasons[0].code, refusal.value.reasons[0].file) == ("too_large_linked", "b.bin")
