"""Servers that behave while tags are listed, and mean harm when a commit is fetched."""

import os
import time

import pytest

from apps.contrib.git.remote import checkouts, folders, remotes
from apps.contrib.git.remote.access import Limits
from apps.contrib.git.remote.children import Clock
from apps.contrib.git.remote.stores import Store
from apps.contrib.git.tests.remote.asking import access_to, remote_of
from tests.builders.git_servers import Repository
from tests.lib.sandbox.processes import commands, wait_for
from tests.rows import for_each_row

pytestmark = pytest.mark.needs("git")
SECRET = "sesame-token-of-alice"
RESULT = {"Content-Type": "application/x-git-upload-pack-result"}


@pytest.fixture
def fetch(site, limits):
    def fetched(ref="refs/tags/v1.0.0", *, limits=limits, authorization="", **more):
        access = access_to(site, authorization=authorization)
        with checkouts.fetched(remote_of(site, "acme/vpc"), access, limits, ref=ref, **more) as commit:
            return commit

    return fetched


@pytest.fixture
def vpc(site) -> Repository:
    repository = site.repository("acme/vpc")
    repository.commit({"main.tf": "x"})
    repository.tag("v1.0.0")
    return repository


def packet(band: bytes, data: bytes = b"") -> bytes:
    return b"%04x%s%s" % (len(band) + len(data) + 4, band, data)


@pytest.mark.slow
def test_a_fetch_that_hangs_ends_in_time_with_all_its_processes_and_files(
    site, vpc, fetch, refusal, own_temporary_folder
):
    seen = []

    def hang():
        seen.append(("\n".join(commands()), [p.read_bytes() for p in own_temporary_folder.rglob("*") if p.is_file()]))
        yield b"0008NAK\n"
        time.sleep(4)

    site.token = SECRET
    site.answer = lambda path: (200, RESULT, hang()) if path.endswith("/git-upload-pack") else None
    began = time.monotonic()

    refused = refusal(fetch, limits=Limits(seconds=2), authorization=f"Bearer {SECRET}")

    assert (refused.code, refused.is_final) == ("too_slow", False)
    assert time.monotonic() - began < 4
    wait_for(lambda: not any(site.url in command for command in commands()), 10)
    assert list(own_temporary_folder.iterdir()) == []
    # While git ran, the credential was neither an argument nor in a file.
    lines, files = seen[0]
    assert site.url in lines
    assert SECRET not in lines
    assert files
    assert not any(SECRET.encode() in file for file in files)


def test_a_credential_stays_out_of_errors_even_if_the_server_repeats_it(site, vpc, fetch, refusal):
    site.token = SECRET
    error = b"ERR no access for " + SECRET.encode() + b" by " + site.authorization.encode() + b"\x1b[2J"
    site.answer = lambda path: (200, RESULT, packet(error)) if path.endswith("/git-upload-pack") else None

    refused = refusal(fetch, authorization=site.authorization)

    assert "no access for ***" in str(refused)
    assert SECRET not in f"{refused} {refused.hint}"
    assert site.authorization.split()[1] not in str(refused)
    assert str(refused).isprintable()


def once_more(site, answer):
    """The first look is Larder's own; git's comes after it."""

    def chosen(path):
        return answer(path) if len(site.requests) > 1 else None

    site.answer = chosen


def test_git_follows_no_redirect(site, trap, vpc, fetch, refusal):
    trap.repository("acme/vpc").commit({"main.tf": "evil"})
    trap.repository("acme/vpc").tag("v1.0.0")
    once_more(site, lambda path: (302, {"Location": f"{trap.url}{path}"}, b""))

    assert refusal(fetch).code == "bad_redirect"
    assert trap.requests == []


def test_alternates_of_a_server_with_plain_files_are_not_followed(site, trap, vpc, fetch, refusal):
    commit = vpc.head

    def answer(path):
        path = path.partition("?")[0].removeprefix("/acme/vpc.git")
        found = {
            "/info/refs": f"{commit}\trefs/tags/v1.0.0\n".encode(),
            "/HEAD": b"ref: refs/heads/main\n",
            "/objects/info/http-alternates": f"{trap.url}/acme/vpc.git/objects\n".encode(),
            "/objects/info/packs": b"\n",
        }
        return (200, {"Content-Type": "text/plain"}, found[path]) if path in found else (404, {}, b"")

    once_more(site, answer)

    assert refusal(fetch).code in {"incomplete", "not_found", "dumb_http"}
    assert trap.requests == []


def test_a_token_is_not_sent_to_where_a_redirect_leads(site, trap, fetch):
    trap.repository("acme/vpc").commit({"main.tf": "x"})
    trap.repository("acme/vpc").tag("v1.0.0")
    site.answer = lambda path: (302, {"Location": f"{trap.url}{path}"}, b"")

    assert fetch(authorization=f"Bearer {SECRET}").entries[0].path == "main.tf"

    assert site.headers[0]["Authorization"] == f"Bearer {SECRET}"
    assert len(trap.requests) > 2
    assert not any("Authorization" in headers or SECRET in str(headers) for headers in trap.headers)


@for_each_row(
    "url", ["https://localhost/x", "http://localhost/x", "git://localhost/x", "ssh://localhost/x", "ext::true"]
)
def test_a_git_that_reads_what_was_fetched_asks_no_server(limits, refusal, url):
    """Nor one that fetches asks by another protocol than that of the URL that was checked."""
    with folders.temporary() as folder:
        store = Store(folder, "repository", Clock(limits.seconds), limits)
        store.create()

        refused = refusal(store.run, ["ls-remote", url], max_bytes=1000)

    assert f"transport '{url.partition(':')[0]}' not allowed" in str(refused)


def test_git_connects_to_the_address_that_was_checked(trap, names, limits):
    """Nobody but this process resolves the name, so a git that asked a resolver itself would fail."""
    trap.repository("acme/vpc").commit({"main.tf": "x"})
    names(**{"git.acme.example": "127.0.0.1"})
    remote = remotes.Remote("http", "git.acme.example", remote_of(trap, "x").port, "/acme/vpc.git")

    with checkouts.fetched(remote, access_to(trap), limits, ref="HEAD") as commit:
        assert commit.entries[0].path == "main.tf"
    assert {headers["Host"] for headers in trap.headers} == {f"git.acme.example:{remote.port}"}


def test_a_server_that_lists_a_commit_and_sends_another_is_refused(site, vpc, fetch, refusal):
    listed = vpc.commit({"main.tf": "listed"})
    vpc.tag("v1.0.0")
    other = site.repository("acme/other")
    other.commit({"evil.tf": "sent"})
    names = other.run("rev-list", "--objects", "--no-object-names", "HEAD")
    pack = other.path / "sent.pack"
    other.run("pack-objects", "-q", str(pack), given=names.encode())
    data = next(other.path.glob("sent.pack-*.pack")).read_bytes()
    sent = packet(b"shallow-info\n") + packet(f"shallow {listed}".encode()) + b"0001"
    sent += packet(b"packfile\n") + packet(b"\x01", data) + b"0000"

    def answer(path):
        is_fetch = path.endswith("/git-upload-pack") and b"command=fetch" in site.bodies[-1]
        return (200, RESULT, sent) if is_fetch else None

    site.answer = answer

    assert refusal(fetch).code == "incomplete"


def test_a_pack_that_is_larger_than_the_limit_is_cut_off(site, vpc, fetch, refusal, own_temporary_folder):
    vpc.commit({"large.bin": os.urandom(3_000_000)})
    vpc.tag("v1.0.0")

    refused = refusal(fetch, limits=Limits(seconds=60, pack_bytes=1_000_000))

    assert (refused.code, refused.is_final) == ("too_large", True)
    assert list(own_temporary_folder.iterdir()) == []


@pytest.mark.slow
def test_a_small_pack_of_a_giant_file_is_refused_by_its_size(site, vpc, fetch, refusal):
    vpc.commit({"zeros.bin": bytes(40_000_000)})
    vpc.tag("v1.0.0")

    refused = refusal(fetch, limits=Limits(seconds=60, pack_bytes=1_000_000, tree_bytes=30_000_000))

    assert (refused.code, refused.is_final) == ("too_large", True)


def test_trees_that_contain_one_another_are_left_at_the_limit(site, vpc, fetch, refusal):
    tree = vpc.run("rev-parse", "HEAD^{tree}")
    for _ in range(9):
        tree = vpc.run("mktree", given="".join(f"040000 tree {tree}\t{number}\n" for number in range(10)).encode())
    vpc.tag("v1.0.0", vpc.run("commit-tree", "-m", "A billion files", tree, **AUTHOR))
    began = time.monotonic()

    refused = refusal(fetch)

    assert (refused.code, refused.is_final) == ("too_large", True)
    assert time.monotonic() - began < 50  # a walk of all would take hours


AUTHOR = {"GIT_AUTHOR_NAME": "Alice", "GIT_AUTHOR_EMAIL": "alice@acme.example", "GIT_AUTHOR_DATE": "1700000000 +0000"}


@for_each_row("name", ["..", ".git", ".GIT", "."])
def test_a_tree_with_a_name_that_escapes_is_refused(site, vpc, fetch, refusal, name):
    blob = vpc.run("rev-parse", "HEAD:main.tf")
    tree = vpc.run("hash-object", "-t", "tree", "-w", "--literally", "--stdin", given=tree_entry(name, blob))
    vpc.tag("v1.0.0", vpc.run("commit-tree", "-m", "Escape", tree, **AUTHOR))

    assert refusal(fetch).code == "bad_object"


def tree_entry(name: str, blob: str) -> bytes:
    return f"100644 {name}\0".encode() + bytes.fromhex(blob)


def test_what_old_programs_wrote_without_harm_is_read(site, vpc, fetch):
    blob = vpc.run("rev-parse", "HEAD:main.tf")
    tree = vpc.run("hash-object", "-t", "tree", "-w", "--literally", "--stdin", given=b"0" + tree_entry("a.tf", blob))
    data = f"tree {tree}\nauthor Alice <alice> 0 +051800\ncommitter <> 0 +0000\n\nOld\n".encode()
    vpc.tag("v1.0.0", vpc.run("hash-object", "-t", "commit", "-w", "--literally", "--stdin", given=data))

    assert [entry.path for entry in fetch().entries] == ["a.tf"]
