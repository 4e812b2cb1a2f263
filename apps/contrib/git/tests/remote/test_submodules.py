"""Submodules become a part of the archive, under the rules of the repository itself."""

import io
import os
import tarfile
from dataclasses import replace

import pytest

from apps.contrib.git.remote import checkouts, submodules
from apps.contrib.git.remote.remotes import parse
from apps.contrib.git.tests.remote.asking import access_to, remote_of
from tests.builders.git_servers import submodule
from tests.rows import for_each_row

pytestmark = pytest.mark.needs("git")


def modules(**urls):
    return "".join(f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n' for path, url in urls.items())


@pytest.fixture
def fetch(site, limits):
    """`fetch()` returns what the archive has, as it is read for the second time."""

    def fetched(folder="", *, authorization="", wanted=True, limits=limits):
        access, remote = access_to(site, authorization=authorization), remote_of(site, "acme/vpc")
        with checkouts.fetched(remote, access, limits, ref="HEAD", submodules=wanted) as commit:
            looked_at = b"".join(commit.archive(folder))
            data = b"".join(commit.archive(folder))
        assert looked_at == data
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            # The pipeline refuses archives that have a name twice.
            assert sorted(set(tar.getnames())) == sorted(tar.getnames())
            return {one.name: (tar.extractfile(one) or io.BytesIO()).read() for one in tar if one.isreg()}

    return fetched


def test_they_are_fetched_at_their_commits_with_theirs(site, fetch):
    site.token = "sesame"
    inner = site.repository("acme/inner").commit({"inner.tf": "i"})
    part = site.repository("acme/part").commit(
        {"part.tf": "p", "tests/x": "", ".gitattributes": "tests export-ignore\n", "inner": submodule(inner)}
        | {".gitmodules": modules(inner="../inner.git")}
    )
    site.repository("acme/part").commit({"part.tf": "newer"})
    site.repository("acme/vpc").commit(
        {"main.tf": "m", "lib": submodule(part), ".gitmodules": modules(lib="../part.git")}
    )

    assert fetch(authorization=site.authorization) == {
        ".gitmodules": modules(lib="../part.git").encode(),
        "main.tf": b"m",
        "lib/.gitattributes": b"tests export-ignore\n",
        "lib/.gitmodules": modules(inner="../inner.git").encode(),
        "lib/part.tf": b"p",
        "lib/inner/inner.tf": b"i",
    }


@pytest.mark.slow
def test_the_folder_of_one_with_a_long_name_is_in_the_archive_once(site, fetch):
    name = "long-" * 30
    part = site.repository("acme/part").commit({"part.tf": "p", "more/part.tf": "q"})
    site.repository("acme/vpc").commit({name: submodule(part), ".gitmodules": modules(**{name: "../part.git"})})

    found = fetch()

    assert found.keys() == {".gitmodules", f"{name}/part.tf", f"{name}/more/part.tf"}


@pytest.mark.slow
def test_those_outside_the_folder_are_left_and_none_is_fetched_unless_wanted(site, fetch):
    part = site.repository("acme/part").commit({"part.tf": "p"})
    files = {"a/main.tf": "m", "a/lib": submodule(part), "b": submodule("1" * 40)}
    site.repository("acme/vpc").commit(files | {".gitmodules": modules(**{"a/lib": "../part.git"})})

    assert fetch("a") == {"a/main.tf": b"m", "a/lib/part.tf": b"p"}
    del site.requests[:]
    assert fetch("a", wanted=False) == {"a/main.tf": b"m"}
    assert not any("part" in request for request in site.requests)


@pytest.mark.slow
def test_one_that_export_ignore_leaves_out_is_not_fetched(site, fetch):
    part = site.repository("acme/part").commit({"part.tf": "p"})
    site.repository("acme/vpc").commit(
        {"main.tf": "m", "lib": submodule(part), "tests/lib": submodule("1" * 40), "x": submodule("2" * 40)}
        | {".gitmodules": modules(lib="../part.git"), ".gitattributes": "tests export-ignore\n/x export-ignore\n"}
    )

    assert set(fetch()) == {".gitattributes", ".gitmodules", "main.tf", "lib/part.tf"}


@pytest.mark.slow
def test_the_limits_hold_for_all_together(site, fetch, limits, refusal):
    for name in ("a", "b"):
        site.repository(f"acme/{name}").commit({"part.tf": name.encode() + os.urandom(20_000)})
    files = {name: submodule(site.repository(f"acme/{name}").head) for name in ("a", "b")}
    site.repository("acme/vpc").commit({"main.tf": "", **files, ".gitmodules": modules(a="../a.git", b="../b.git")})

    assert len(fetch()) == 4
    for less in ({"entries": 5}, {"tree_bytes": 40_000}, {"pack_bytes": 30_000}):
        refused = refusal(fetch, limits=replace(limits, **less))
        assert (refused.code, refused.is_final) == ("too_large", True), less
        assert "'b'" in str(refused)


@for_each_row(
    ("url", "code"),
    [
        ("http://10.0.0.1/acme/x.git", "private_address"),
        ("https://169.254.169.254/latest", "private_address"),
        ("ssh://git@10.0.0.1/acme/x.git", "host_key_unknown"),
        ("file:///etc", "submodule_refused"),
        ("/etc", "submodule_refused"),
        ("ext::sh -c touch% /tmp/x", "submodule_refused"),
        ("https://alice:secret@localhost/x", "submodule_refused"),
        ("../../../../x", "not_found"),
    ],
)
def test_one_that_leads_astray_is_refused(site, fetch, refusal, url, code):
    site.repository("acme/vpc").commit({"lib": submodule("1" * 40), ".gitmodules": modules(lib=url)})

    refused = refusal(fetch)

    assert refused.code == code
    assert "'lib'" in str(refused)


def test_one_whose_url_looks_like_an_option_is_refused_with_its_repository(site, fetch, refusal):
    site.repository("acme/vpc").commit({"lib": submodule("1" * 40), ".gitmodules": modules(lib="-u./x:y")})

    assert refusal(fetch, wanted=False).code == "bad_object"


def test_a_credential_does_not_go_to_another_origin(site, trap, fetch):
    part = trap.repository("other/part").commit({"part.tf": "p"})
    site.repository("acme/vpc").commit({"lib": submodule(part), ".gitmodules": modules(lib=trap.url_of("other/part"))})

    assert fetch(authorization="Bearer sesame")["lib/part.tf"] == b"p"
    assert not any("Authorization" in headers for headers in trap.headers)


@pytest.mark.slow
def test_one_without_a_url_or_with_a_commit_that_is_not_there_is_refused(site, fetch, refusal):
    site.repository("acme/vpc").commit({"lib": submodule("1" * 40)})
    assert refusal(fetch).code == "no_submodule_url"

    site.repository("acme/part").commit({"part.tf": "p"})
    site.repository("acme/vpc").commit({"lib": submodule("1" * 40), ".gitmodules": modules(lib="../part.git")})
    assert refusal(fetch).code == "incomplete"


@pytest.mark.slow
def test_too_many_and_too_deep_ones_are_refused(site, fetch, refusal, monkeypatch):
    monkeypatch.setattr(checkouts, "MAX_SUBMODULES", 4)
    part = site.repository("acme/part").commit({"part.tf": "p"})
    many = {f"lib{number}": submodule(part) for number in range(5)}
    site.repository("acme/vpc").commit({**many, ".gitmodules": modules(**dict.fromkeys(many, "../part.git"))})
    assert refusal(fetch).code == "too_many_submodules"

    below, url = part, "../part.git"
    for number in range(4):
        files = {"lib": submodule(below), ".gitmodules": modules(lib=url)}
        below, url = site.repository(f"acme/nested{number}").commit(files), f"../nested{number}.git"
    site.repository("acme/vpc").commit({"lib": submodule(below), ".gitmodules": modules(lib=url)})
    assert refusal(fetch).code == "too_many_submodules"


@for_each_row(
    ("url", "found"),
    [
        ("../part.git", "https://git.acme.example/acme/part.git"),
        ("./part.git", "https://git.acme.example/acme/vpc.git/part.git"),
        ("../../other/part", "https://git.acme.example/other/part"),
        (".././../other/part", "https://git.acme.example/other/part"),
        ("git@github.com:acme/part.git", "ssh://git@github.com/~/acme/part.git"),
    ],
)
def test_urls_are_resolved_as_git_does(url, found):
    assert submodules.resolved(parse("https://git.acme.example/acme/vpc.git"), url, "lib").url == found
