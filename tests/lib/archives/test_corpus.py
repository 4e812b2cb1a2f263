"""Every rule has an archive that breaks it, refused with its own reason, and a near miss that is accepted."""

import io
from pathlib import Path

import pytest

from apps.lib.archives import sandboxed
from tests.builders.archives import Case, corpus, module_zip

LIMITS = sandboxed.Limits()
CASES = corpus()


def read(data: bytes, *wanted: str, limits: sandboxed.Limits = LIMITS) -> sandboxed.Listing:
    return sandboxed.read(io.BytesIO(data), limits, wanted)


def test_the_corpus_is_large_and_names_are_unique():
    assert len(CASES) >= 80
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", [case for case in CASES if case.reason_code], ids=lambda case: case.name)
def test_it_refuses_each_broken_rule_with_its_own_reason(case: Case):
    with pytest.raises(sandboxed.Refusal) as refusal:
        read(case.bytes)

    reason = refusal.value.reasons[0]
    assert reason.code == case.reason_code
    assert case.member in reason.file
    assert reason.sentence in str(refusal.value)
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("case", [case for case in CASES if not case.reason_code], ids=lambda case: case.name)
def test_it_accepts_each_near_miss(case: Case):
    data = case.bytes

    listing = read(data)

    assert listing.size == len(data)
    assert sum(entry.size for entry in listing.entries) <= LIMITS.unpacked_bytes


def test_nothing_is_written_outside_or_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    inside = tmp_path / "inside"
    inside.mkdir()
    decoy = tmp_path / "x.tf"
    decoy.write_text("decoy")
    monkeypatch.chdir(inside)

    for case in CASES:
        if isinstance(case.data, bytes):
            with pytest.raises(sandboxed.Refusal) if case.reason_code else _nothing():
                read(case.data)

    assert sorted(tmp_path.rglob("*")) == [inside, decoy]
    assert decoy.read_text() == "decoy"


def test_several_bad_names_are_reported_together_up_to_twenty():
    names = [f"../{number}.tf" for number in range(30)]

    with pytest.raises(sandboxed.Refusal) as refusal:
        read(module_zip(dict.fromkeys(names, "")))

    assert [reason.file for reason in refusal.value.reasons] == names[:20]


def test_refusals_name_the_limit_and_its_setting():
    with pytest.raises(sandboxed.Refusal, match=r"at most 9 bytes \(LARDER_MODULE_ARCHIVE_MAX_BYTES\)"):
        read(module_zip(), limits=sandboxed.Limits(packed_bytes=9))
    with pytest.raises(sandboxed.Refusal, match=r"at most 9 bytes \(LARDER_MODULE_UNPACKED_MAX_BYTES\)"):
        read(module_zip(), limits=sandboxed.Limits(unpacked_bytes=9))
    with pytest.raises(sandboxed.Refusal, match=r"at most 3 entries \(LARDER_ARCHIVE_MAX_ENTRIES\)"):
        read(module_zip(), limits=sandboxed.Limits(entries=3))


def test_wanted_texts_come_back_in_any_case_and_cut():
    files = {"ReadMe.md": "# hello", "a/readme.md": "no", "main.tf": "x", "a/main.tf": "no", "b.TF": "y"}
    limits = sandboxed.Limits(text_bytes=3)

    listing = read(module_zip(files), "readme.md", "*.tf", limits=limits)

    assert listing.texts == {"ReadMe.md": b"# h", "main.tf": b"x", "b.TF": b"y"}


def test_all_texts_together_are_capped():
    listing = read(module_zip({"a.tf": "12345", "b.tf": "12345"}), "*.tf", limits=sandboxed.Limits(texts_bytes=7))

    assert listing.texts == {"a.tf": b"12345", "b.tf": b"12"}


def test_a_slow_archive_is_refused_at_the_deadline():
    with pytest.raises(sandboxed.Refusal) as refusal:
        read(module_zip(), limits=sandboxed.Limits(seconds=-1))

    assert refusal.value.reasons[0].code == "too_slow"


class _nothing:  # noqa: N801 - reads as a word in the `with` above
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...
