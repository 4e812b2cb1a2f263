"""Repositories over ssh, of a real sshd."""

from dataclasses import replace

import pytest

from apps.contrib.git.remote import checkouts, host_keys, refs
from apps.contrib.git.remote.access import Access
from apps.contrib.git.remote.remotes import Remote, parse
from apps.lib.net import fetching
from tests.builders.git_daemons import public_half, ssh_site
from tests.builders.git_servers import LOOPBACK, ssh_key
from tests.needs import needs
from tests.rows import for_each_row

pytestmark = pytest.mark.needs("git", "ssh", "sshd")


@pytest.fixture
@needs("git", "ssh", "sshd")
def there(tmp_path):
    with ssh_site(tmp_path / "ssh") as started:
        vpc = started.repository("acme/vpc")
        vpc.commit({"main.tf": "x"})
        vpc.tag("v1.0.0", message="First")
        yield started


@pytest.fixture
def access(there) -> Access:
    trusted = fetching.trusting("", 0, "")
    return Access(trusted, allowed=LOOPBACK, private_key=there.key.read_text(), host_keys=there.host_keys)


@pytest.fixture
def both(there, limits):
    """`both(access, name)`: list its tags, then fetch one; each may be refused."""

    def run(access, name="acme/vpc"):
        def fetch():
            with checkouts.fetched(parse(there.url(name)), access, limits, ref="refs/tags/v1.0.0") as commit:
                return commit

        return (lambda: refs.listed(parse(there.url(name)), access, limits)), fetch

    return run


def test_tags_are_listed_and_fetched_with_the_deploy_key(both, access, there, own_temporary_folder):
    assert host_keys.scanned(parse(there.url("acme/vpc")), access) == there.host_keys
    assert host_keys.fingerprint(there.host_keys[0]) in there.fingerprints

    listing, commit = (one() for one in both(access))
    assert [(tag.name, tag.commit) for tag in listing.tags] == [("v1.0.0", commit.id)]
    assert listing.head == commit.id
    assert commit.tag.startswith(f"object {commit.id}".encode())
    assert [entry.path for entry in commit.entries] == ["main.tf"]
    assert list(own_temporary_folder.iterdir()) == []


@pytest.mark.slow
def test_another_host_key_than_the_pinned_one_is_refused_before_the_key_is_shown(
    both, access, there, tmp_path, refusal
):
    for kind in ("ed25519", "rsa"):
        other = public_half(ssh_key(tmp_path / kind, kind=kind))
        for one in both(replace(access, host_keys=(other,))):
            refused = refusal(one)
            assert (refused.code, refused.is_final) == ("host_key_changed", True)
            assert "fingerprint" in refused.hint
    assert there.commands == []


def test_without_a_pinned_key_nothing_is_asked_and_one_of_several_is_enough(both, access, there, tmp_path, refusal):
    for one in both(replace(access, host_keys=())):
        assert refusal(one).code == "host_key_unknown"
    assert there.commands == []

    other = public_half(ssh_key(tmp_path / "other"))
    for one in both(replace(access, host_keys=(other, *access.host_keys))):
        one()


@for_each_row("key", ["", "no key at all", "another"])
def test_a_refused_key_is_named_and_never_shown(both, access, there, tmp_path, refusal, key):
    if key == "another":
        key = ssh_key(tmp_path / "another").read_text()

    for one in both(replace(access, private_key=key)):
        refused = refusal(one)
        assert (refused.code, refused.is_final) == ("unauthorized", True)
        assert "key" in str(refused)
        assert "PRIVATE" not in str(refused)
    assert there.commands == []


def test_what_the_forge_does_not_show_is_not_found_and_a_path_with_quotes_reaches_it_as_one(
    both, there, access, limits, refusal
):
    for one in both(access, "acme/none"):
        assert refusal(one).code == "not_found"
    asked = len(there.commands)
    for path in ("/x'; touch y; '", "/$(touch y)"):
        assert refusal(refs.listed, replace(parse(there.url("a")), path=path), access, limits).code == "not_found"
    assert there.commands[asked:] == ["git-upload-pack '/x'\\''; touch y; '\\'''", "git-upload-pack '/$(touch y)'"]


def test_a_server_that_does_not_answer_is_unreachable(there, access, limits, refusal):
    remote = replace(parse(there.url("acme/vpc")), port=1)

    assert refusal(refs.listed, remote, access, limits).code == "unreachable"
    assert refusal(host_keys.scanned, remote, access).code == "unreachable"


@for_each_row(("host", "port"), [("127.0.0.1", 22), ("10.1.2.3", 22), ("8.8.8.8", 2222), ("8.8.8.8", 80)])
def test_only_public_addresses_on_the_ports_of_ssh_may_be_asked_without_leave(access, limits, refusal, host, port):
    remote, outside = Remote("ssh", host, port, "/acme/vpc", "git"), replace(access, allowed=())

    for one in (lambda: refs.listed(remote, outside, limits), lambda: host_keys.scanned(remote, outside)):
        assert refusal(one).code == "private_address"


@pytest.mark.slow
def test_this_hosts_own_configuration_of_ssh_is_not_read(both, access, tmp_path, monkeypatch):
    """A user's configuration could run a command, and an agent could offer other keys."""
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text(f"Host *\n  ProxyCommand touch {tmp_path}/run\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {tmp_path}/run")
    monkeypatch.setenv("GIT_SSH", "/bin/false")

    for one in both(access):
        one()
    assert not (tmp_path / "run").exists()
