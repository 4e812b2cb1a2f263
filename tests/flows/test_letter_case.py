"""Names that differ only in letter case: refused where a module loads both, else one of them is left out."""

import pytest

from tests.builders.archives import MODULE
from tests.flows.test_links import put, served, tar_with, zip_with
from tests.rows import for_each_row

__all__ = ["put"]
KEPT = {
    "README.md": "readme.md",
    "Docs/a.md": "docs/b.md",
    "examples/x/Main.tf": "examples/x/main.tf",
    "files/A.txt": "files/a.txt",
    "modules/net/main.tf": "modules/Net/notes.txt",
    "tests/cafe\u0301.tf": "tests/caf\u00e9.tf",
}


@pytest.mark.parametrize("pack", [zip_with, tar_with], ids=["zip", "tar.gz"])
def test_one_of_two_names_is_left_out_with_a_warning_where_no_module_loads_both(put, pack, client, alice):
    release = put(pack({"Readme.md": "main.tf"}, {**MODULE, **dict.fromkeys([*KEPT, *KEPT.values()], "")}))

    names = served(release).keys()
    assert set(KEPT) <= names
    assert not names & {"Readme.md", *KEPT.values()}, "a link that is left out is not copied"
    warned = [one["file"] for one in release.notes["warnings"] if one["code"] == "duplicate_name"]
    assert sorted(warned) == sorted(["Readme.md", *KEPT.values()])
    client.force_login(alice)
    page = " ".join(client.get(f"/releases/{release.public_id}").text.split())
    assert 'data-warning="duplicate_name"' in page
    assert "the same name except for letter case" in page


READING = 'locals {\n  script = file("${path.module}/files/init.sh")\n}\n'


@for_each_row(
    ("links", "names"),
    [
        ({}, ["main.tf", "Main.tf"]),
        ({}, ["modules/net/main.tf", "modules/Net/main.tf"]),
        ({}, ["modules/net/main.tf", "Modules/net/outputs.tf"]),
        ({}, ["Net/main.tofu", "net/other.tf.json"]),
        ({}, ["files/Init.sh", "files/init.sh"]),  # a module file reads it by this name
        ({"Main.tf": "main.tf"}, []),
        ({"README.md": "main.tf"}, ["README.md"]),  # the very same name twice
    ],
)
def test_two_names_that_a_module_loads_are_refused(put, links, names):
    release = put(zip_with(links, {**MODULE, "read.tf": READING, **dict.fromkeys(names, "")}))

    assert release.state == "rejected"
    assert {reason["code"] for reason in release.reasons} == {"duplicate_name"}


def test_only_the_chosen_folder_counts(put):
    release = put(zip_with({}, {"a/main.tf": "", "b/main.tf": "", "B/main.tf": ""}), "?folder=a")

    assert served(release).keys() == {"main.tf"}
