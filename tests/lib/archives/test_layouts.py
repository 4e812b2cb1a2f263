"""Read from the names of members: the top folder, files that do not belong to a module, and where modules are."""

from apps.lib.archives.layouts import is_module_file
from apps.lib.archives.sandboxed import layout_of
from tests.rows import for_each_row

LEFT_OUT = [
    ".git/config", "a/.git/HEAD", "a/.git", ".terraform/modules/modules.json", "a/b/.terraform/x.tf", ".DS_Store",
    "a/.DS_Store", "__MACOSX/._main.tf", "a/Thumbs.db", "a/thumbs.db", "._main.tf", ".terraform.tfstate.lock.info",
    "a/.prod.tfstate.lock.info", "pax_global_header",
]  # fmt: skip
STATE = [
    "terraform.tfstate", "a/prod.tfstate", "terraform.tfstate.backup", "terraform.tfstate.1700000000.backup",
    "errored.tfstate", "a/terraform.tfstate.d/prod/x", ".terraform/terraform.tfstate", "Terraform.TFSTATE",
]  # fmt: skip
KEPT = [
    ".terraform.lock.hcl", "a/.terraform.lock.hcl", "tfstate.tf", "terraform.tfstate.tf", "tfstate/main.tf",
    ".gitignore", ".github/workflows/ci.yml", "x.backup", "git/x.tf", "a/pax_global_header", "terraform/main.tf",
    "notes.tfstate.md", "lock.info", ".terraform-docs.yml", ".terraformrc", "_main.tf",
]  # fmt: skip


@for_each_row(
    ("name", "is_left_out", "is_state"),
    [
        *((name, True, False) for name in LEFT_OUT),
        *((name, True, True) for name in STATE),
        *((name, False, False) for name in KEPT),
    ],
)
def test_it_leaves_out_what_is_no_part_of_a_module_and_names_state(name: str, is_left_out: bool, is_state: bool):
    layout = layout_of(["main.tf", name])

    assert (layout.left_out, layout.state_files) == ((name,) * is_left_out, (name,) * is_state)


@for_each_row(
    ("names", "top"),
    [
        (["main.tf"], ""),
        ([], ""),
        (["vpc-1.2.0/main.tf", "vpc-1.2.0/modules/a/main.tf"], "vpc-1.2.0"),
        (["vpc/", "vpc/main.tf"], "vpc"),
        (["vpc/", "vpc/modules/", "vpc/modules/a/main.tf"], "vpc"),
        (["modules/a/main.tf", "modules/b/main.tf"], ""),
        (["modules/main.tf", "modules/b/main.tf"], "modules"),
        (["vpc/main.tf", "README.md"], ""),
        (["vpc/main.tf", "other/"], ""),
        (["a/main.tf", "b/main.tf"], ""),
        (["pax_global_header", "vpc/main.tf"], "vpc"),
        (["vpc/main.tf", "__MACOSX/vpc/._main.tf", ".DS_Store"], "vpc"),
        (["main.tf", "__MACOSX/._main.tf"], ""),
        ([".git/config"], ""),
    ],
    ids=str,
)
def test_it_finds_the_one_folder_that_everything_lies_under(names: list[str], top: str):
    assert layout_of(names).top_folder == top


def test_it_names_the_folders_that_hold_module_files_below_the_top():
    names = [
        "m/main.tf", "m/modules/b/x.tofu", "m/modules/a/x.tf.json", "m/modules/a/y.tf", "m/examples/c/x.tofu.json",
        "m/docs/x.md", "m/.terraform/modules/x/main.tf", "m/only/.hidden.tf", "m/tests/x.tftest.hcl", "m/folder.tf/",
    ]  # fmt: skip
    assert layout_of(names).folders == ("", "examples/c", "modules/a", "modules/b")
    assert layout_of([*names, "x.md"]).folders == ("m", "m/examples/c", "m/modules/a", "m/modules/b")
    assert len(layout_of(f"{number:03}/main.tf" for number in range(300)).folders) == 200, "at most"
    assert layout_of([".git/", "main.tf", "terraform.tfstate.d/"]).left_out == (), "folders are no files"


def test_it_knows_the_files_that_clients_read():
    names = ["a.tf", "a.tofu", "a.tf.json", "a.tofu.json", "a.TF", ".a.tf", "tf", "a.tfvars", "a.json", "a.tf~"]

    assert [name for name in names if is_module_file(name)] == names[:4]
