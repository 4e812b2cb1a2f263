"""Names that differ only in letter case: refused where a module loads both, else one of them is left out."""

import pytest

from tests.builders.archives import MODULE
from tests.flows.test_links import put, served, tar_with, zip_with
from tests.rows import for_each_row

__all__ = ["put"]
pytestmark = pytest.mark.both
packed = pytest.mark.parametrize("pack", [zip_with, tar_with], ids=["zip", "tar.gz"])


@packed
@pytest.mark.parametrize(
    ("kept", "left_out"),
    [
        ("README.md", "readme.md"),
        ("Docs/a.md", "docs/b.md"),
        ("examples/x/Main.tf", "examples/x/main.tf"),
        ("files/A.txt", "files/a.txt"),
        ("modules/net/main.tf", "modules/Net/notes.txt"),
        ("tests/cafe\u0301.tf", "tests/caf\u00e9.tf"),
    ],
)
def test_one_of_two_names_is_left_out_with_a_warning_where_no_module_loads_both(
    put, pack, client, alice, kept, left_out
):
    release = put(pack({}, {**MODULE, kept: "", left_out: ""}))

    names = served(release).keys()
    assert kept in names
    assert left_out not in names
    [warning] = [one for one in release.notes["warnings"] if one["code"] == "duplicate_name"]
    assert warning["file"] == left_out
    client.force_login(alice)
    page = " ".join(client.get(f"/releases/{release.public_id}").text.split())
    assert 'data-warning="duplicate_name"' in page
    assert "the same name except for letter case" in page


@packed
@for_each_row(
    ("first", "second"),
    [
        ("main.tf", "Main.tf"),
        ("modules/net/main.tf", "modules/Net/main.tf"),
        ("modules/net/main.tf", "Modules/net/outputs.tf"),
        ("Net/main.tofu", "net/other.tf.json"),
    ],
)
def test_two_names_that_a_module_loads_are_refused(put, pack, first, second):
    release = put(pack({}, {**MODULE, first: "", second: ""}))

    assert release.state == "rejected"
    assert {reason["code"] for reason in release.reasons} == {"duplicate_name"}


@packed
def test_a_name_that_a_module_file_writes_is_not_left_out(put, pack):
    reading = 'locals {\n  script = file("${path.module}/files/init.sh")\n}\n'
    release = put(pack({}, {**MODULE, "read.tf": reading, "files/Init.sh": "", "files/init.sh": ""}))

    assert (release.state, [reason["code"] for reason in release.reasons]) == ("rejected", ["duplicate_name"])


@packed
def test_a_link_that_is_left_out_is_not_copied(put, pack):
    release = put(pack({"readme.md": "main.tf"}, {**MODULE, "README.md": "# x\n"}))

    assert "readme.md" not in served(release)


@packed
def test_a_link_beside_a_file_that_a_module_loads_is_refused(put, pack):
    release = put(pack({"Main.tf": "main.tf"}, MODULE))

    assert [reason["code"] for reason in release.reasons] == ["duplicate_name"]


@packed
def test_only_the_chosen_folder_counts(put, pack):
    release = put(pack({}, {"a/main.tf": "", "b/main.tf": "", "B/main.tf": ""}), "?folder=a")

    assert served(release).keys() == {"main.tf"}


@packed
def test_the_same_name_twice_is_always_refused(put, pack):
    data = pack({"README.md": "main.tf"}, {**MODULE, "README.md": "# x\n"})

    assert [reason["code"] for reason in put(data).reasons] == ["duplicate_name"]
