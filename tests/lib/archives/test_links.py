"""Links inside an archive are resolved by names alone: copies, broken links, limits."""

import pytest

from apps.lib.archives.layouts import is_beside_module
from apps.lib.archives.links import MAX_FOLLOWED, Tree, View
from apps.lib.archives.rules.outcome import Entry
from apps.lib.archives.sandboxed import Limits, Refusal
from tests.rows import for_each_row

LIMITS = Limits()


def file(name: str, size: int = 1) -> Entry:
    return Entry(name, size, 0o644, name.endswith("/"))


def to(name: str, target: str, link="symbolic") -> Entry:
    return Entry(name, 0, 0o777, is_dir=False, link=link, target=target)


def view(*entries: Entry | str, prefix: str = "", limits: Limits = LIMITS) -> View:
    whole = [file(entry) if isinstance(entry, str) else entry for entry in entries]
    return Tree(whole, limits).below(prefix)


def broken(*entries: Entry | str, prefix: str = "") -> dict[str, str]:
    return {link.name: link.found for link in view(*entries, prefix=prefix).broken}


@for_each_row(
    ("name", "target", "member"),
    [
        ("x.tf", "main.tf", "main.tf"),
        ("x.tf", "./main.tf", "main.tf"),
        ("x.tf", "modules//vpc/./main.tf", "modules/vpc/main.tf"),
        ("modules/dns/main.tf", "../vpc/main.tf", "modules/vpc/main.tf"),
        ("modules/dns/main.tf", "../../main.tf", "main.tf"),
        ("modules/dns/main.tf", "../../modules/../main.tf", "main.tf"),
    ],
)
def test_a_link_to_a_file_is_a_copy_of_it(name, target, member):
    found = view("main.tf", "modules/vpc/main.tf", "modules/dns/README.md", to(name, target))

    assert found.copies == {member: [name]}
    assert found.followed == [name]
    assert sorted(found.names) == sorted(["main.tf", "modules/vpc/main.tf", "modules/dns/README.md", name])
    assert found.broken == []


@for_each_row(
    ("entries", "copies"),
    [
        (
            ["lib/a.tf", "lib/b/c.tf", "lib/empty/", to("modules/x", "../lib")],
            {"lib/a.tf": ["modules/x/a.tf"], "lib/b/c.tf": ["modules/x/b/c.tf"]},
        ),
        (
            ["a/main.tf", to("b", "a"), to("c/b", "../b"), to("d.tf", "c/b/main.tf"), to("e.tf", "d.tf")],
            {"a/main.tf": ["b/main.tf", "c/b/main.tf", "d.tf", "e.tf"]},
        ),
        (
            ["vpc/main.tf", to("vpc/dns/main.tf", "vpc/main.tf", "hard"), to("vpc/x.tf", "./vpc/main.tf", "hard")],
            {"vpc/main.tf": ["vpc/dns/main.tf", "vpc/x.tf"]},
        ),
        (
            ["a/main.tf", "a/terraform.tfstate", "a/.terraform/x.tf", to("b", "a")],
            {"a/main.tf": ["b/main.tf"]},
        ),
    ],
    ids=["all of a folder", "through links", "hard links, from the root", "not what stays out by rule"],
)
def test_what_a_link_leads_to_is_copied(entries, copies):
    assert view(*entries).copies == copies


def test_below_a_folder_only_its_own_links_count_wherever_they_lead():
    found = view(
        "main.tf", "modules/x/y.tf", to("modules/x/main.tf", "../../main.tf"), to("bad", "/etc"), prefix="modules/x/"
    )
    assert found.names == ["modules/x/y.tf", "modules/x/main.tf"]
    assert found.copies == {"main.tf": ["modules/x/main.tf"]}
    assert found.broken == []


def test_a_folder_is_found_by_a_link_too():
    tree = Tree([file("modules/x/main.tf"), to("modules/y", "x"), to("z", "/etc")], LIMITS)

    assert tree.folder_at("modules/y") == tree.folder_at("modules/x") == "modules/x"
    assert tree.folder_at("z") is tree.folder_at("modules/x/main.tf") is tree.folder_at("none") is None


@for_each_row(
    ("target", "why"),
    [
        ("/etc/passwd", "an absolute path"),
        ("../x.tf", "outside of the archive"),
        ("modules/../../x.tf", "outside of the archive"),
        ("none.tf", "not in the archive"),
        ("main.tf/x", "not in the archive"),
        ("Main.tf", "not in the archive"),
        ("main\\.tf", "not in the archive"),
        ("x.tf", "part of a loop"),
        ("terraform.tfstate", "left out"),
        (".terraform/x.tf", "left out"),
        (".terraform", "left out"),
        (".", "a folder around the link"),
        ("", "a folder around the link"),
    ],
)
def test_what_leads_nowhere_is_broken_and_says_why(target, why):
    entries: list[Entry | str] = ["main.tf", "modules/a.tf", "terraform.tfstate", ".terraform/x.tf", to("x.tf", target)]

    assert why in broken(*entries)["x.tf"]
    assert f"a symbolic link to {target or 'nothing'}, " in broken(*entries)["x.tf"]
    assert view(*entries).copies == {}


@for_each_row("target", ["none.tf", "x.tf", "other.tf", "modules", "../main.tf"])
def test_a_hard_link_to_anything_but_a_file_is_broken(target):
    assert list(broken("main.tf", "modules/a.tf", to("other.tf", "main.tf"), to("x.tf", target, "hard"))) == ["x.tf"]
    assert r"to a\x1bb," in broken("main.tf", to("x.tf", "a\x1bb"))["x.tf"], "a control character is shown"


def test_links_that_stay_out_by_rule_are_not_looked_at():
    found = view("main.tf", to(".terraform/providers/x", "/home/alice/cache"), to("a/.git", "../../.git"))

    assert (found.names, found.followed, found.broken) == (["main.tf"], [], [])


def test_folders_that_lead_into_one_another_end():
    found = view("a/main.tf", "b/main.tf", to("a/b", "../b"), to("b/a", "../a"))

    assert sorted(found.names) == ["a/b/main.tf", "a/main.tf", "b/a/main.tf", "b/main.tf"]
    assert sorted(link.name for link in found.broken) == ["a/b/a", "b/a/b"]


def test_a_chain_of_links_is_followed_as_far_as_linux_does():
    def chain(length: int) -> list[Entry]:
        return [to(f"{number}.tf", f"{number + 1}.tf") for number in range(length)]

    last = MAX_FOLLOWED + 1  # from the first link, as many others
    assert view(*chain(last), file(f"{last}.tf")).broken == []
    assert list(broken(*chain(last + 1), file(f"{last + 1}.tf"))) == ["0.tf"]


DOUBLING = [to(f"{number}/{side}", f"../{number + 1}") for number in range(40) for side in "ab"]


@for_each_row(
    ("entries", "limits", "code"),
    [
        ([file("40/x.tf"), *DOUBLING[24:]], LIMITS, "too_many_entries"),
        ([file("40/"), *DOUBLING[24:]], LIMITS, "too_many_entries"),
        ([file("40/x.tf"), *DOUBLING], LIMITS, "too_large_directory"),
        ([file("x.bin", 60), to("y.bin", "x.bin")], Limits(unpacked_bytes=100), "too_large_unpacked"),
        ([file("x.bin", 40), to("y.bin", "x.bin")], Limits(unpacked_bytes=100), None),
        ([file("x.tf"), to("y.tf", "x.tf")], Limits(entries=1), "too_many_entries"),
        ([file("x.tf"), to("y.tf", "x.tf")], Limits(entries=2), None),
    ],
    ids=["2^28 files", "2^28 folders", "a depth of 40", "100 bytes", "80 bytes", "two entries", "two are allowed"],
)
def test_what_links_multiply_is_bounded(entries, limits, code):
    if code is None:
        assert view(*entries, limits=limits).broken == []
        return
    with pytest.raises(Refusal) as refusal:
        view(*entries, limits=limits)

    assert refusal.value.reasons[0].code == code


BESIDE = [
    "examples/a/main.tf", "test/fixtures/x.tf", "Tests/x.tf", "modules/a/examples/x.tf", "modules/a/README.md",
    ".x", ".github/x", "a/.x/y.tf", "Makefile", "docs/x", "LICENSE", "examples", "unit/testdata/x.json",
]  # fmt: skip
NEEDED = [
    "main.tf",
    "modules/a/main.tf",
    "modules/test/main.tf",
    "modules/examples/x.sh",
    "a/x.tpl",
    "testing/x",
    "lib",
]


def test_it_knows_what_no_client_needs_and_what_a_module_may_need():
    assert [name for name in [*BESIDE, *NEEDED] if is_beside_module(name)] == BESIDE
