"""Commits, fetched and read."""

import hashlib
import io
import tarfile
from dataclasses import replace

import pytest

from apps.contrib.git.remote import checkouts
from apps.contrib.git.remote.access import Limits
from apps.contrib.git.tests.remote.asking import access_to, remote_of
from tests.builders.git_servers import executable, lfs_pointer, link, ssh_key
from tests.rows import for_each_row

pytestmark = pytest.mark.needs("git")


@pytest.fixture
def fetch(site, limits):
    """`fetch(name, ref)` returns what `read` makes of the commit."""

    def fetched(name="acme/vpc", ref="refs/tags/v1.0.0", *, read=lambda commit: commit, limits=limits, **more):
        with checkouts.fetched(remote_of(site, name), access_to(site), limits, ref=ref, **more) as commit:
            return read(commit)

    return fetched


def members(commit, folder=""):
    with tarfile.open(fileobj=io.BytesIO(b"".join(commit.archive(folder)))) as tar:
        return {
            one.name: ((tar.extractfile(one) or io.BytesIO()).read() if one.isreg() else one.linkname) for one in tar
        }


def test_a_commit_has_its_files_and_an_archive_of_them(site, fetch):
    vpc = site.repository("acme/vpc")
    vpc.commit({"main.tf": "old"})
    commit_id = vpc.commit(
        {
            "main.tf": "new",
            "bin/run": executable("#!/bin/sh\n"),
            "link.tf": link("main.tf"),
            "modules/a/main.tf": "a",
            "café\n.md": "",
            "image.bin": lfs_pointer(),
        }
    )
    vpc.tag("v1.0.0")

    def read(commit):
        assert {entry.path: (oct(entry.mode), entry.size) for entry in commit.entries} == {
            "bin/run": ("0o100755", 10),
            "café\n.md": ("0o100644", 0),
            "image.bin": ("0o100644", 130),
            "link.tf": ("0o120000", 7),
            "main.tf": ("0o100644", 3),
            "modules/a/main.tf": ("0o100644", 1),
        }
        assert commit.read("main.tf", 100) == b"new"
        assert commit.read("image.bin", 7) == b"version"
        assert commit.read("café\n.md", 7) == b""
        assert (members(commit)["link.tf"], members(commit)["main.tf"]) == ("main.tf", b"new")
        assert members(commit, "modules/a") == {"modules": "", "modules/a": "", "modules/a/main.tf": b"a"}
        return commit

    commit = fetch(read=read, expected=commit_id)
    assert (commit.id, commit.tag) == (commit_id, b"")


@pytest.mark.slow
def test_what_the_commit_does_not_have_is_named(site, fetch, refusal):
    site.repository("acme/vpc").commit({"main.tf": "", "-x/main.tf": "", ":(top)/main.tf": "t"})
    site.repository("acme/vpc").tag("v1.0.0")

    assert refusal(fetch, read=lambda commit: commit.read("none.tf", 9)).code == "no_file"
    assert refusal(fetch, read=lambda commit: members(commit, "modules")).code == "no_folder"
    assert "-x/main.tf" in fetch(read=lambda commit: members(commit, "-x"))
    assert set(fetch(read=lambda commit: members(commit, ":(top)"))) == {":(top)", ":(top)/main.tf"}


def test_hundreds_of_files_are_read_one_after_the_other_and_large_ones_to_where_asked(site, fetch):
    files = {f"{number}.tf": str(number) * number for number in range(300)}
    site.repository("acme/vpc").commit({**files, "large.bin": b"large" * 1_000_000, "lines.tf": "a\n\nb\n"})
    site.repository("acme/vpc").tag("v1.0.0")

    def read(commit):
        for path, content in files.items():
            assert commit.read(path, 1000) == content.encode()[:1000]
            if path in {"7.tf", "70.tf"}:
                assert commit.read("large.bin", 10) == b"largelarge"
        assert commit.read("lines.tf", 100) == b"a\n\nb\n"
        assert len(commit.read("large.bin", 4_500_000)) == 4_500_000

    fetch(read=read)


def test_export_ignore_is_honoured_and_nothing_is_run(site, fetch, tmp_path):
    vpc = site.repository("acme/vpc")
    attributes = "tests/ export-ignore\n*.secret export-ignore\n*.tf filter=evil diff=evil\n*.bin filter=lfs\n"
    vpc.commit(
        {
            ".gitattributes": attributes,
            ".gitconfig": f'[filter "evil"]\n\tsmudge = touch {tmp_path}/run\n',
            "main.tf": "x",
            "tests/a.tf": "",
            "modules/a/key.secret": "",
            "modules/a/main.tf": "",
            "a.bin": lfs_pointer(),
        }
    )
    vpc.tag("v1.0.0")

    whole = fetch(read=members)
    folder = {"modules", "modules/a", "modules/a/main.tf"}
    assert set(whole) == {".gitattributes", ".gitconfig", "a.bin", "main.tf", *folder}
    assert whole["a.bin"] == lfs_pointer().encode()
    assert set(fetch(read=lambda commit: members(commit, "modules"))) == folder
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_the_same_commit_gives_the_same_bytes(site, fetch):
    vpc = site.repository("acme/vpc")
    vpc.commit({f"file-{number}.tf": str(number) * 1000 for number in range(200)})
    vpc.tag("v1.0.0")
    vpc.tag("again", message="Another name of it")

    def digest(commit):
        return hashlib.sha256(b"".join(commit.archive())).hexdigest()

    assert len({fetch(read=digest), fetch(read=digest), fetch(ref="refs/tags/again", read=digest)}) == 1


def test_the_object_of_an_annotated_and_of_a_signed_tag_is_there(site, fetch, tmp_path):
    vpc = site.repository("acme/vpc")
    commit_id = vpc.commit({"main.tf": ""})
    vpc.tag("v1.0.0", message="First\nrelease")
    vpc.sign_tag("v1.0.1", ssh_key(tmp_path / "key"))

    annotated, signed = fetch(), fetch(ref="refs/tags/v1.0.1")

    assert annotated.tag.startswith(f"object {commit_id}\ntype commit\ntag v1.0.0\ntagger Alice".encode())
    assert annotated.tag.endswith(b"First\nrelease")
    assert b"-----BEGIN SSH SIGNATURE-----" in signed.tag
    assert annotated.id == signed.id == commit_id


def test_a_moved_tag_is_refused_and_head_is_read_without_one(site, fetch, refusal):
    vpc = site.repository("acme/vpc")
    listed = vpc.commit({"main.tf": "1"})
    now = vpc.commit({"main.tf": "2"})
    vpc.tag("v1.0.0")

    refused = refusal(fetch, expected=listed)

    assert (refused.code, refused.is_final) == ("moved", True)
    assert listed[:12] in str(refused)
    assert fetch(ref="HEAD").id == now


def test_a_tag_that_is_not_there_or_leads_to_no_commit_is_refused(site, fetch, refusal):
    vpc = site.repository("acme/vpc")
    vpc.commit({"main.tf": "1"})
    vpc.run("tag", "blob", vpc.run("rev-parse", "HEAD:main.tf"))

    assert refusal(fetch).code == "ref_gone"
    assert refusal(fetch, ref="refs/tags/blob").code == "not_a_commit"
    site.repository("acme/empty")
    assert refusal(fetch, "acme/empty", "HEAD").code == "ref_gone"
    assert refusal(fetch, "acme/none", "HEAD").code == "not_found"


@pytest.mark.slow
def test_tags_that_look_like_options_or_commands_are_fetched_as_any(site, fetch):
    vpc = site.repository("acme/vpc")
    commit_id = vpc.commit({"main.tf": ""})
    for name in ("--upload-pack=touch", "-v1.0.0", "café", "x';reboot", "a/b/c", "v1.0.0+build.1"):
        vpc.run("update-ref", f"refs/tags/{name}", commit_id)

        assert fetch(ref=f"refs/tags/{name}").id == commit_id, name


@for_each_row(
    "ref",
    [
        *("", "v1.0.0", "--all", "refs/tags/a:refs/heads/b", "refs/tags/*", "refs/tags/../x", "refs/tags/caf\\xe9"),
        *("refs/tags/a b", "refs/tags/a\n", "refs/tags/a.lock", "refs/tags/", "refs/tags/.a", "refs/tags/a@{1}"),
    ],
)
def test_names_that_git_takes_for_something_else_never_reach_it(site, fetch, refusal, ref):
    assert refusal(fetch, ref=ref).code == "bad_ref"
    assert site.requests == []


def test_a_repository_with_sha_256_is_read(site, fetch):
    site.folder.joinpath("acme").mkdir()
    other = site.repository("other")
    other.run("init", "-q", "--bare", "--object-format=sha256", "-b", "main", str(site.folder / "acme/vpc.git"), at="/")
    commit_id = site.repository("acme/vpc").commit({"main.tf": "long"})
    site.repository("acme/vpc").tag("v1.0.0")

    assert len(commit_id) == 64
    assert fetch(expected=commit_id, read=members) == {"main.tf": b"long"}


def test_only_the_commit_comes_and_not_its_history(site, fetch):
    vpc = site.repository("acme/vpc")
    with vpc.batch() as batch:
        for number in range(200):
            batch.commit({"main.tf": str(number) * 10_000})
        batch.tag("v1.0.0")

    assert fetch(limits=Limits(seconds=60, pack_bytes=20_000)).entries[0].size == 30_000


def test_limits_on_files_and_bytes_hold_for_the_commit(site, fetch, refusal, limits):
    site.repository("acme/vpc").commit({"a.tf": "1" * 1000, "b.tf": "2" * 1000})
    site.repository("acme/vpc").tag("v1.0.0")

    assert len(fetch(limits=replace(limits, entries=2, tree_bytes=2000)).entries) == 2
    for less in ({"entries": 1}, {"tree_bytes": 1999}):
        refused = refusal(fetch, limits=replace(limits, **less))
        assert (refused.code, refused.is_final) == ("too_large", True)
