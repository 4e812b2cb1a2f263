"""What is unpacked is what clients read, as files of a web server."""

import json
from pathlib import Path
from typing import Any

import pytest

from apps.contrib.copy.bundle import unpacking
from apps.contrib.copy.bundle.contents import BadBundle
from apps.contrib.copy.bundle.unpacking import unpack
from apps.contrib.copy.tree import layout
from apps.contrib.copy.tree.folders import Folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return tmp_path / "tree"


def files(tree: Path) -> set[str]:
    found = [path for path in tree.rglob("*") if path.is_file() and ".writing" not in path.parts]
    return {path.relative_to(tree).as_posix() for path in found}


def document(tree: Path, place: str) -> Any:
    return json.loads((tree / place).read_bytes())


def test_the_tree_has_what_clients_read_and_its_bytes_are_links(carried, tree):
    written, removed = unpack(carried.opened(), tree)

    module = document(tree, "private/v1/modules/acme/vpc/aws/versions")["modules"][0]
    assert [one["version"] for one in module["versions"]] == ["1.2.0"]
    archive = tree / "private/packages/modules/acme/vpc/aws/1.0.0.zip"  # yanked: served, and in no list
    assert archive.stat().st_nlink == 2
    modes = {path.stat().st_mode & 0o777 for path in (tree / "private").rglob("*") if path.is_file()}
    assert (modes, (tree / "private").stat().st_mode & 0o777) == ({0o440}, 0o750)
    assert (tree / "public/.well-known/terraform.json").stat().st_mode & 0o777 == 0o444
    package = document(tree, "public/v1/providers/pantry/dns/1.3.0/download/linux/amd64")
    for name in ("download_url", "shasums_url", "shasums_signature_url"):
        assert (tree / "public" / package[name].removeprefix("/")).is_file()
    assert document(tree, f"public/{layout.DISCOVERY}")["modules.v1"]
    assert (written, removed) == (len(files(tree)) - 1, 0)
    assert not any("1.1.0" in path for path in files(tree))


def test_unpacking_twice_writes_nothing(carried, tree):
    unpack(carried.opened(), tree)

    assert unpack(carried.opened(), tree) == (0, 0)


def test_the_next_bundle_adds_and_removes(carried, tree):
    unpack(carried.opened(), tree)

    written, removed = unpack(carried.opened(carried.later), tree)

    module = document(tree, "private/v1/modules/acme/vpc/aws/versions")["modules"][0]
    assert [one["version"] for one in module["versions"]] == ["1.4.0"]
    assert not (tree / "private/packages/modules/acme/vpc/aws/1.2.0.zip").exists()
    assert (tree / "private/packages/modules/acme/vpc/aws/1.0.0.zip").exists()
    assert written > 0
    assert removed == 2


def test_bytes_come_before_what_names_them_and_go_after_it(carried, tree, monkeypatch):
    order: list[str] = []
    gone: list[str] = []
    put, remove = Folder.put, Folder.remove

    def putting(self: Folder, files: Any, **more: bool) -> None:
        order.extend(path for path, _ in files if path != unpacking.STATE)
        put(self, files, **more)

    def removing(self: Folder, paths: Any, **more: bool) -> None:
        gone.extend(Path(path).name for path in paths)
        remove(self, paths, **more)

    monkeypatch.setattr(Folder, "put", putting)
    monkeypatch.setattr(Folder, "remove", removing)

    unpack(carried.opened(), tree)
    ranks = [layout.rank_of(path.partition("/")[2]) for path in order]
    unpack(carried.opened(carried.later), tree)

    assert len(ranks) > 10
    assert ranks == sorted(ranks)
    assert gone == ["download", "1.2.0.zip"]


def test_what_an_earlier_bundle_has_to_bring_is_asked_for(carried, tree):
    with pytest.raises(BadBundle, match=r"leaves out .+, which the one before it has brought"):
        unpack(carried.opened(carried.later), tree)
    assert files(tree) == set()


def test_a_file_that_was_changed_in_the_tree_is_not_taken_for_the_earlier_one(carried, tree):
    unpack(carried.opened(), tree)
    path = tree / "public/packages/providers/pantry/dns/1.3.0/terraform-provider-dns_1.3.0_linux_amd64.zip"
    path.unlink()
    path.write_bytes(b"another")

    with pytest.raises(BadBundle, match="leaves out public/packages/providers/pantry/dns"):
        unpack(carried.opened(carried.later), tree)


def test_an_older_bundle_is_refused(carried, tree):
    unpack(carried.opened(), tree)
    unpack(carried.opened(carried.later), tree)
    before = files(tree)

    with pytest.raises(BadBundle, match="is older than that of"):
        unpack(carried.opened(), tree)
    assert files(tree) == before


def test_a_tree_of_another_registry_is_refused(carried, tree):
    unpack(carried.opened(), tree)
    state = document(tree, unpacking.STATE)
    (tree / unpacking.STATE).write_text(json.dumps(state | {"registry": "https://other.example"}))

    with pytest.raises(BadBundle, match=r"is of https://other\.example"):
        unpack(carried.opened(), tree)


def test_a_folder_with_files_of_something_else_is_refused(carried, tree):
    (tree / "public").mkdir(parents=True)
    (tree / "public" / "index.html").write_text("mine")

    with pytest.raises(BadBundle, match="has a tree that is of no bundle"):
        unpack(carried.opened(), tree)
    assert files(tree) == {"public/index.html"}


def test_bytes_are_copied_where_links_cannot_be(carried, tree, monkeypatch):
    def refuses(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("os.link", refuses)

    unpack(carried.opened(), tree)

    assert (tree / "private/packages/modules/acme/vpc/aws/1.0.0.zip").stat().st_nlink == 1
    assert unpack(carried.opened(), tree) == (0, 0)
