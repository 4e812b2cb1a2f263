"""Larder's lock files next to those of real clients: the same bytes for the same input."""

import pytest

from apps.contrib.mirror.tests.locks import HOST, LOCK, PLATFORMS, Folder, complete, entry
from apps.lib.errors import Invalid, NotFound
from apps.lib.formats import lock_files
from tests.needs import CLIENTS
from tests.rows import for_each_row

pytestmark = [pytest.mark.django_db]
ALL = ("linux_amd64", "darwin_arm64", "windows_amd64")


@pytest.fixture(params=CLIENTS)
def client(request) -> str:
    return request.param


@pytest.fixture
def folder(client, tls_registry, tls_upstream, tmp_path) -> Folder:
    for kind in ("tool", "other"):
        tls_registry.add_provider(
            "acme", kind, versions=["1.0.0", "1.1.0", "1.2.0-beta1", "2.0.0", "2.1.0"], platforms=ALL
        )
    return Folder(tmp_path, client, tls_registry)


@pytest.mark.slow
@for_each_row(
    ("constraint", "platforms"),
    [
        ("~> 1.0", PLATFORMS),
        (">= 1, <2.0 , !=1.1.0", ALL),
        ("1.2.0-beta1", ("linux_amd64",)),
    ],
)
def test_a_new_file_is_the_same(client, folder, constraint, platforms):
    block = "\n".join([entry("tool", f"{HOST}/acme/tool", constraint), entry("other", f"{HOST}/Acme/Other", "> 1.0")])
    (folder.path / LOCK).unlink(missing_ok=True)
    folder.require(block)
    assert complete(block=block, platforms=platforms, client=client) == folder.locked(*platforms)


def test_constraints_of_two_names_are_joined(client, folder):
    block = "\n".join(
        [entry("a", f"{HOST}/acme/tool", ">= 1.0.0, ~> 1.0"), entry("b", f"{HOST}/acme/tool", "~>1, < 3")]
    )
    folder.require(block)
    mine = complete(block=block, client=client)
    assert mine == folder.locked(*PLATFORMS)
    assert '"~> 1.0, >= 1.0.0, < 3.0.0"' in mine or '">= 1.0.0, ~> 1.0, < 3.0.0"' in mine


def test_a_locked_version_and_its_hashes_stay(client, folder):
    block = entry("tool", f"{HOST}/acme/tool", ">= 1.0")
    folder.require(entry("tool", f"{HOST}/acme/tool", "1.0.0"))
    one = folder.locked("linux_amd64")
    grown = one.replace('"h1:', '"h2:later/than+all=",\n    "x:a $${b} \\" \\u0007",\n    "h1:').replace(
        '"1.0.0"\n  hashes', '">= 1.0.0"\n  hashes'
    )
    folder.require(block)
    folder.write_lock(grown)
    mine = complete(lock=grown, client=client)
    assert mine == folder.locked("darwin_arm64", "linux_amd64")
    assert 'version     = "1.0.0"' in mine
    assert "h2:later" in mine
    assert r"x:a $${b} \" \u0007" in mine
    assert mine.count('"h1:') == 2
    # Once more: nothing changes, and a lock of more platforms keeps those of others.
    assert complete(lock=mine, client=client) == mine == folder.locked(*PLATFORMS)
    assert complete(lock=mine, platforms=["windows_amd64"], client=client) == folder.locked("windows_amd64")


def test_a_lock_file_without_hashes_is_filled_and_what_is_locked_and_not_required_stays(client, folder):
    bare = str(
        lock_files.parse_lock(
            f'# "{client} init"\nprovider "{HOST}/acme/tool" {{ version = "1.1.0" }}\n'
            f'provider "{HOST}/acme/other" {{\n version = "2.0.0"\n constraints = "2.0.0"\n}}\n'
        )
    )
    tool = entry("tool", f"{HOST}/acme/tool")
    folder.require("\n".join([tool, entry("other", f"{HOST}/acme/other", "2.0")]))
    folder.write_lock(bare)
    filled = folder.locked(*PLATFORMS)
    assert complete(lock=bare) == filled

    folder.require(tool)
    assert complete(lock=filled, block=tool) == folder.locked(*PLATFORMS)


def test_opentofu_follows_the_locks_of_terraform(client, folder):
    """Of hashicorp's providers in Terraform's registry it makes entries for its own registry."""
    old = (
        'provider "registry.terraform.io/hashicorp/random" {\n  version = "3.0.0"\n  hashes = [\n    "h1:a",\n  ]\n}\n'
    )
    lock = str(lock_files.parse_lock(f'# "{client} init"\n{old}'))
    block = entry("tool", f"{HOST}/acme/tool")
    folder.require(block)
    folder.write_lock(lock)
    mine = complete(lock=lock, block=block)
    assert mine == folder.locked("darwin_arm64", "linux_amd64")
    assert ('"registry.opentofu.org/hashicorp/random"' in mine) is (client == "tofu")


def test_both_refuse_what_no_version_meets_and_a_locked_version_that_the_constraints_exclude(client, folder):
    none = entry("tool", f"{HOST}/acme/tool", "1.2.0-beta2")
    folder.require(none)
    assert "no available releases match" in folder.run("providers", "lock", is_right=False)
    with pytest.raises(NotFound, match="There is no version of"):
        complete(block=none, client=client)

    lock = str(lock_files.parse_lock(f'# "{client} init"\nprovider "{HOST}/acme/tool" {{ version = "1.0.0" }}'))
    block = entry("tool", f"{HOST}/acme/tool", "> 1.0")
    folder.require(block)
    folder.write_lock(lock)
    assert "does not match configured version constraint" in " ".join(
        folder.run("providers", "lock", is_right=False).replace("│", "").split()
    )
    with pytest.raises(Invalid, match=r"is locked to 1\.0\.0"):
        complete(lock=lock, block=block)
