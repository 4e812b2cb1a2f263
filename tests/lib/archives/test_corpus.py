"""Every rule has an archive that breaks it, refused with its own reason, and a near miss that is accepted."""

import io
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

import pytest

from apps.lib.archives import sandboxed
from tests.builders.archives import Case, corpus, tar_corpus

LIMITS = sandboxed.Limits()
CASES = {case.name: case for case in [*corpus(), *tar_corpus()]}
SMALL = [case for case in CASES.values() if isinstance(case.data, bytes)]


def read(case: Case) -> sandboxed.Listing:
    return sandboxed.read(io.BytesIO(case.bytes), LIMITS, ["*.tf"], form=case.form)


def test_the_corpus_is_large_and_names_are_unique():
    refused = [case for case in CASES.values() if case.reason_code]

    assert len(CASES) == len(corpus()) + len(tar_corpus()) >= 300
    assert len(refused) >= 200
    assert len(CASES) - len(refused) >= 100


def test_each_broken_rule_is_refused_with_its_own_reason_and_each_near_miss_accepted():
    assert wrong_verdicts(SMALL) == {}


@pytest.mark.slow
def test_so_it_is_with_archives_that_are_large_when_they_are_unpacked():
    assert wrong_verdicts([case for case in CASES.values() if case not in SMALL]) == {}


def wrong_verdicts(cases: Iterable[Case]) -> dict[str, str]:
    return {case.name: verdict for case in cases if (verdict := wrong_verdict(case))}


def wrong_verdict(case: Case) -> str:
    """Empty if the case has the verdict that it should have."""
    try:
        listing = read(case)
    except sandboxed.Refusal as refusal:
        reason = refusal.reasons[0]
        is_right = reason.code == case.reason_code and case.member in reason.file
        is_told = all((reason.expected, reason.hint, reason.sentence in str(refusal)))
        return "" if is_right and is_told and str(refusal).isprintable() else f"{reason.code} {reason.file}: {refusal}"
    is_sound = (listing.form, listing.size) == (case.form, len(case.bytes))
    return "" if is_sound and case.reason_code is None else f"accepted: {listing.entries[:9]}"


def test_near_misses_are_read_as_other_tools_do():
    for case in SMALL:
        if not case.reason_code:
            entries = [(entry.name.rstrip("/"), entry.size) for entry in read(case).entries]
            assert sorted(entries) == sorted(theirs(case)), case.name


def theirs(case: Case) -> list[tuple[str, int]]:
    """The members as Python's own readers have them."""
    if case.form == "zip":
        with zipfile.ZipFile(io.BytesIO(case.bytes)) as zipped:
            infos = [(info.filename.removeprefix("./").rstrip("/"), info.file_size) for info in zipped.infolist()]
            return [info for info in infos if info[0]]
    with tarfile.open(fileobj=io.BytesIO(case.bytes), mode="r:*") as tarred:
        return [(item.name.removeprefix("./"), item.size) for item in tarred if item.name not in (".", "./")]


def test_nothing_is_written_outside_or_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    inside = tmp_path / "inside"
    inside.mkdir()
    decoy = tmp_path / "x.tf"
    decoy.write_text("decoy")
    monkeypatch.chdir(inside)

    for case in SMALL:
        verdict(sandboxed.read, io.BytesIO(case.bytes), case)

    assert sorted(tmp_path.rglob("*")) == [inside, decoy]
    assert decoy.read_text() == "decoy"


@pytest.mark.slow
def test_the_child_gives_the_same_verdicts(tmp_path: Path):
    path = tmp_path / "archive"
    for case in SMALL[::12]:
        path.write_bytes(case.bytes)
        with path.open("rb") as file:
            there = verdict(sandboxed.inspect, file, case)
        assert there == verdict(sandboxed.read, io.BytesIO(case.bytes), case), case.name


def verdict(read: Callable[..., sandboxed.Listing], file: BinaryIO, case: Case) -> object:
    """All that does not depend on the process: the listing's facts, or the refusal's reasons."""
    try:
        listing = read(file, LIMITS, ["*.tf"], form=case.form)
    except sandboxed.Refusal as refusal:
        return refusal.reasons
    return listing.digest, listing.entries, listing.texts
