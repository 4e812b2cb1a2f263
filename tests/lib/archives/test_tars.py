"""Tars: every rule has an archive that breaks it, refused with its own reason, and near misses that are accepted."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from apps.lib.archives import sandboxed
from tests.builders.archives import Case, tar_corpus
from tests.builders.tars import Item, gz, pax, tar

LIMITS = sandboxed.Limits()
CASES = tar_corpus()
REFUSED = [case for case in CASES if case.reason_code]
ACCEPTED = [case for case in CASES if not case.reason_code]


def read(case: Case) -> sandboxed.Listing:
    return sandboxed.read(io.BytesIO(case.bytes), LIMITS, ["*.tf"], form=case.form)


def test_the_corpus_is_large_and_names_are_unique():
    assert len(REFUSED) >= 100
    assert len(ACCEPTED) >= 50
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_it_refuses_each_broken_rule_with_its_own_reason(case: Case):
    with pytest.raises(sandboxed.Refusal) as refusal:
        read(case)

    reason = refusal.value.reasons[0]
    assert reason.code == case.reason_code
    assert case.member in reason.file
    assert reason.expected
    assert reason.mend
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.name)
def test_it_reads_each_near_miss_as_other_tools_do(case: Case):
    data = case.bytes

    listing = sandboxed.read(io.BytesIO(data), LIMITS, ["*.tf"], form=case.form)

    assert listing.form == case.form
    assert listing.size == len(data)
    if isinstance(case.data, bytes):  # tarfile takes seconds for the costly ones
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as oracle:
            theirs = [(item.name.removeprefix("./"), item.size) for item in oracle if item.name not in (".", "./")]
        assert [(entry.name.rstrip("/"), entry.size) for entry in listing.entries] == theirs


def test_nothing_is_written_outside_or_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    inside = tmp_path / "inside"
    inside.mkdir()
    decoy = tmp_path / "x.tf"
    decoy.write_text("decoy")
    monkeypatch.chdir(inside)

    for case in CASES:
        if isinstance(case.data, bytes):
            try:
                read(case)
            except sandboxed.Refusal:
                assert case.reason_code

    assert sorted(tmp_path.rglob("*")) == [inside, decoy]
    assert decoy.read_text() == "decoy"


def test_the_child_gives_the_same_verdicts(tmp_path: Path):
    path = tmp_path / "archive"
    for case in CASES[::12]:
        if isinstance(case.data, bytes):
            path.write_bytes(case.data)
            with path.open("rb") as file:
                there = verdict(sandboxed.inspect, file, case)
            assert there == verdict(sandboxed.read, io.BytesIO(case.data), case)


def test_several_reasons_are_reported_together_up_to_twenty():
    links = [Item(f"{number}.tf", kind=b"2") for number in range(30)]
    names = [Item("../a.tf"), Item("b\\c.tf")]

    with pytest.raises(sandboxed.Refusal) as few:
        sandboxed.read(io.BytesIO(gz(tar([*names, *links[:2]]))), LIMITS, form="tar.gz")
    with pytest.raises(sandboxed.Refusal) as many:
        sandboxed.read(io.BytesIO(gz(tar(links))), LIMITS, form="tar.gz")

    assert [reason.file for reason in few.value.reasons] == ["../a.tf", "b\\c.tf", "0.tf", "1.tf"]
    assert [reason.file for reason in many.value.reasons] == [f"{number}.tf" for number in range(20)]


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (sandboxed.Limits(packed_bytes=9), r"at most 9 bytes \(LARDER_MODULE_ARCHIVE_MAX_BYTES\)"),
        (sandboxed.Limits(unpacked_bytes=9), r"at most 9 bytes \(LARDER_MODULE_UNPACKED_MAX_BYTES\)"),
        (sandboxed.Limits(entries=1), r"at most 1 entries \(LARDER_ARCHIVE_MAX_ENTRIES\)"),
    ],
    ids=["packed", "unpacked", "entries"],
)
def test_refusals_name_the_limit_and_its_setting(limits: sandboxed.Limits, words: str):
    with pytest.raises(sandboxed.Refusal, match=words):
        sandboxed.read(io.BytesIO(gz(tar([Item("a.tf", b"12345"), Item("b.tf", b"12345")]))), limits, form="tar.gz")


@pytest.mark.parametrize(
    ("code", "limits", "items"),
    [
        ("too_many_entries", sandboxed.Limits(entries=9), [Item("x", before=pax({"comment": "x"}, b"g") * 10)]),
        ("too_large_directory", sandboxed.Limits(directory_bytes=999), [Item(f"{n:099}") for n in range(11)]),
        ("header_too_large", LIMITS, [Item(f"{n}", before=pax({"comment": "x" * 999})) for n in range(11)]),
        ("name_too_long", sandboxed.Limits(name_bytes=9), [Item("n" * 10)]),
        ("name_too_deep", sandboxed.Limits(depth=2), [Item("a/b/c")]),
    ],
    ids=["global headers", "names together", "records together", "a name", "a path"],
)
def test_what_a_tar_may_pile_up_is_bounded(monkeypatch, code: str, limits: sandboxed.Limits, items: list[Item]):
    monkeypatch.setattr("apps.lib.archives.tars.reader._MAX_ABOUT_ALL_BYTES", 10_000)

    with pytest.raises(sandboxed.Refusal) as refusal:
        sandboxed.read(io.BytesIO(gz(tar(items))), limits, form="tar.gz")

    assert refusal.value.reasons[0].code == code


def test_a_slow_archive_is_refused_at_the_deadline():
    with pytest.raises(sandboxed.Refusal) as refusal:
        sandboxed.read(io.BytesIO(gz(tar([Item("a.tf")]))), sandboxed.Limits(seconds=-1), form="tar.gz")

    assert refusal.value.reasons[0].code == "too_slow"


def verdict(read: Callable[..., sandboxed.Listing], file: BinaryIO, case: Case) -> object:
    """What does not depend on the process: the listing's facts, or the refusal's reasons."""
    try:
        listing = read(file, LIMITS, ["*.tf"], form=case.form)
    except sandboxed.Refusal as refusal:
        return refusal.reasons
    return listing.digest, listing.entries, listing.texts
