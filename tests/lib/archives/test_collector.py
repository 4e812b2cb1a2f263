"""Collected while members are read: wanted texts, which share their room fairly, private keys, places for ranges."""

import io
import zlib

import pytest

from apps.lib.archives import sandboxed
from tests.builders.archives import module_zip
from tests.builders.tars import gz, module_tar, xz
from tests.builders.zips import Member, build, streamed
from tests.rows import for_each_row

LIMITS = sandboxed.Limits()
MIB = 1 << 20


def zipped(files, *wanted: str, limits: sandboxed.Limits = LIMITS) -> sandboxed.Listing:
    return sandboxed.read(io.BytesIO(module_zip(files)), limits, wanted)


def tarred(files, *wanted: str, limits: sandboxed.Limits = LIMITS) -> sandboxed.Listing:
    return sandboxed.read(io.BytesIO(gz(module_tar(files))), limits, wanted, form="tar.gz")


both = pytest.mark.parametrize("read", [zipped, tarred], ids=["zip", "tar.gz"])


@both
def test_patterns_are_of_whole_paths_in_any_case(read):
    names = [
        "main.tf", "B.TF", "ReadMe.md", "a/readme.md", "modules/a/main.tf", "modules/a/b/main.tf", "modules/main.tf",
        "examples/c/README.md", "examples/c/main.tf", ".tf", "main.tf.json", "main_tf", "modules.x.tf",
    ]  # fmt: skip
    listing = read(dict.fromkeys(names, "x"), "readme.md", "*.tf", "modules/*/*.tf", "examples/*/README.md")

    assert sorted(listing.texts) == sorted(
        ["main.tf", "B.TF", "ReadMe.md", "modules/a/main.tf", "examples/c/README.md", ".tf", "modules.x.tf"]
    )


def test_each_text_is_capped_and_all_together():
    files = {"a.tf": "12345", "b.tf": "12345", "c.tf": "12345"}
    listing = zipped(files, "*.tf", limits=sandboxed.Limits(text_bytes=3, texts_bytes=7))

    assert listing.texts == {"a.tf": b"123", "b.tf": b"123", "c.tf": b"1"}


@both
def test_the_root_has_room_before_the_examples_wherever_it_lies(read):
    examples = {f"examples/{number}/main.tf": "e" * 400 for number in range(50)}
    files = {**examples, "z.tf": "z" * 600, "a.tf": "a" * 300}

    listing = read(files, "*.tf", "examples/*/*.tf", limits=sandboxed.Limits(texts_bytes=1_000))

    assert {name: len(text) for name, text in listing.texts.items()} == {
        "a.tf": 300,
        "z.tf": 600,
        "examples/0/main.tf": 100,
    }


def test_both_forms_keep_the_same_texts_whatever_the_order():
    files = {f"modules/{number * 7 % 50}/main.tf": f"{number}" * number for number in range(50)} | {"main.tf": "x" * 99}
    limits = sandboxed.Limits(text_bytes=60, texts_bytes=1_500)

    kept = [
        read(dict(order), "*.tf", "modules/*/*.tf", limits=limits).texts
        for read in (zipped, tarred)
        for order in (files.items(), reversed(files.items()))
    ]

    assert kept[0] == kept[1] == kept[2] == kept[3]
    assert sum(map(len, kept[0].values())) == 1_500


@both
def test_a_text_is_cut_exactly_when_it_is_shorter_than_its_entry(read):
    listing = read({"a.tf": "x" * MIB, "b.tf": "x" * (MIB + 1)}, "*.tf")

    sizes = {entry.name: entry.size for entry in listing.entries}
    assert {name: len(text) == sizes[name] for name, text in listing.texts.items()} == {"a.tf": True, "b.tf": False}


@pytest.mark.slow
def test_many_wanted_texts_cost_no_more_than_others():
    """Sorting again for each text took a minute."""
    files = {f"{number}.tf": "x" * 100 for number in range(15_000, 0, -1)}

    listing = tarred(files, "*.tf", limits=sandboxed.Limits(texts_bytes=MIB, seconds=20))

    assert sum(map(len, listing.texts.values())) == MIB


def test_an_entry_of_a_zip_says_where_its_data_lie_and_one_of_a_tar_has_no_place():
    members = [
        Member("stored.tf", b"stored", method=0),
        Member("deflated.tf", b"deflated " * 99),
        streamed("streamed.tf", b"streamed " * 99),
        Member("empty.tf", method=0),
    ]
    data = build(members)

    for entry, member in zip(sandboxed.read(io.BytesIO(data), LIMITS).entries, members, strict=True):
        packed = data[entry.at : entry.at + entry.packed]
        assert (zlib.decompress(packed, -15) if entry.method == 8 else packed) == member.data
    entry = tarred({"main.tf": "x"}).entries[0]
    assert (entry.at, entry.packed, entry.method) == (0, 0, 0)


@for_each_row(
    ("head", "form"),
    [
        (module_zip(), "zip"),
        (build([]), "zip"),
        (gz(b""), "tar.gz"),
        (xz(b""), "tar.xz"),
        (b"PK\x07\x08", None),
        (b"", None),
        (b"\x1f", None),
        (module_tar({"main.tf": "x"}), None),
    ],
    ids=["zip", "empty zip", "gzip", "xz", "a split zip", "nothing", "one byte", "a tar"],
)
def test_the_form_is_known_by_the_first_bytes(head: bytes, form: str | None):
    assert sandboxed.form_of(head[: sandboxed.HEAD_BYTES]) == form


@for_each_row(
    ("head", "found", "hint"),
    [
        (b"", "0 bytes", "again"),
        (module_tar({"main.tf": "x"}), "a tar archive", "gzip module.tar"),
        (b"BZh91AY", "bzip2", "tar -czf"),
        (b"\x28\xb5\x2f\xfd", "zstd", "tar -czf"),
        (b"7z\xbc\xaf\x27\x1c", "7z", ".zip"),
        (b"Rar!\x1a\x07\x01", "rar", ".zip"),
        (b"<!DOCTYPE html>", "HTML", ".zip"),
        (b"resource {}", "something else", ".zip"),
    ],
    ids=["nothing", "tar", "bzip2", "zstd", "7z", "rar", "HTML", "a text"],
)
def test_another_form_is_refused_by_its_name_with_a_hint(head: bytes, found: str, hint: str):
    reason = sandboxed.refuse_form(head[: sandboxed.HEAD_BYTES]).reasons[0]

    assert reason.code == ("not_an_archive" if head else "empty")
    assert found in reason.found
    assert hint in reason.hint
