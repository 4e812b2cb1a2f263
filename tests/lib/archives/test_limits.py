"""Limits of archives, and how many reasons a refusal has: the same for every form."""

import io

import pytest

from apps.lib.archives import sandboxed
from tests.builders.archives import module_zip
from tests.builders.tars import Item, gz, pax, tar
from tests.rows import for_each_row

LIMITS = sandboxed.Limits()
FILES = {"a.tf": "12345", "b.tf": "12345", "c.tf": "", "d.tf": ""}
ZIP: tuple[bytes, sandboxed.Form] = module_zip(FILES), "zip"
TAR: tuple[bytes, sandboxed.Form] = gz(tar([Item(name, text.encode()) for name, text in FILES.items()])), "tar.gz"

forms = pytest.mark.parametrize(("data", "form"), [ZIP, TAR], ids=["zip", "tar.gz"])


def refused(data: bytes, form: sandboxed.Form = "tar.gz", limits: sandboxed.Limits = LIMITS) -> sandboxed.Refusal:
    with pytest.raises(sandboxed.Refusal) as refusal:
        sandboxed.read(io.BytesIO(data), limits, form=form)
    return refusal.value


def test_several_reasons_are_reported_together_up_to_twenty():
    names = [f"../{number}.tf" for number in range(30)]
    links = [Item(f"{number}.tf", kind=b"2") for number in range(30)]

    bad_names = refused(module_zip(dict.fromkeys(names, "")), "zip")
    few = refused(gz(tar([Item("../a.tf"), Item("b\\c.tf"), *links[:2]])))
    many = refused(gz(tar(links)))

    assert [reason.file for reason in bad_names.reasons] == names[:20]
    assert [reason.file for reason in few.reasons] == ["../a.tf", "b\\c.tf", "0.tf", "1.tf"]
    assert [reason.file for reason in many.reasons] == [f"{number}.tf" for number in range(20)]


@forms
def test_refusals_name_the_limit_and_its_setting(data: bytes, form: sandboxed.Form):
    packed = refused(data, form, sandboxed.Limits(packed_bytes=9))
    unpacked = refused(data, form, sandboxed.Limits(unpacked_bytes=9))
    entries = refused(data, form, sandboxed.Limits(entries=3))
    slow = refused(data, form, sandboxed.Limits(seconds=-1))

    assert "at most 9 bytes (module_archive_max_bytes of LARDER_LIMITS)" in str(packed)
    assert "at most 9 bytes (module_unpacked_max_bytes of LARDER_LIMITS)" in str(unpacked)
    assert "at most 3 entries (archive_max_entries of LARDER_LIMITS)" in str(entries)
    assert slow.reasons[0].code == "too_slow"


@for_each_row(
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
    monkeypatch.setattr("apps.lib.archives.tar_reader._MAX_ABOUT_ALL_BYTES", 10_000)

    assert refused(gz(tar(items)), limits=limits).reasons[0].code == code
