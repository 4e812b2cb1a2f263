"""The forms of ssh URLs that people paste, each read from a real sshd."""

import getpass

import pytest

from apps.contrib.git.models import GitRepository
from apps.contrib.git.remote import remotes
from apps.contrib.git.tests.ssh.conftest import NAME, vpc
from apps.lib.errors import Invalid
from apps.lib.net import addresses
from tests.builders.git_daemons import can_listen
from tests.rows import for_each_row

ME = getpass.getuser()
pytestmark = [pytest.mark.slow, pytest.mark.needs("git", "ssh", "sshd")]


def read(portal, site, url):
    """Connect, look and publish; return the commands that the server got, as far as they name the repository."""
    repository = portal.connected(url)
    site.authorize(repository.credential_facts["public_key"])
    portal.look(repository)
    assert repository.preview["failure"] is None
    assert portal.publish(repository) == {"v1.0.0": "published", "nightly": "ignored"}
    return {command.removeprefix("git-upload-pack ") for command in site.commands}


@pytest.mark.parametrize(
    ("url", "name", "stored", "asked"),
    [
        # Without a slash the path begins at the user's home, of which sshd of the test makes home/.
        ("{me}@localhost:acme/vpc.git", "home/acme/vpc", "ssh://{me}@localhost/~/acme/vpc.git", "'acme/vpc.git'"),
        ("{me}@localhost:/srv/vpc.git", "srv/vpc", "ssh://{me}@localhost/srv/vpc.git", "'/srv/vpc.git'"),
    ],
)
def test_the_short_form_is_read_as_git_reads_it(portal, sshd, monkeypatch, url, name, stored, asked):
    monkeypatch.setitem(addresses.PORTS, "ssh", sshd.port)  # the short form has no port
    vpc(sshd, name)

    assert read(portal, sshd, url.format(me=ME)) == {asked}
    assert GitRepository.objects.get().url == stored.format(me=ME)


def test_a_url_has_a_port_and_a_user_whom_the_server_may_refuse(portal, sshd):
    vpc(sshd)

    assert read(portal, sshd, f"ssh://{ME}@127.0.0.1:{sshd.port}/{NAME}.git/") == {f"'/{NAME}.git'"}
    repository = GitRepository.objects.get()
    assert repository.url == sshd.url(NAME, "127.0.0.1")

    GitRepository.objects.update(url=f"ssh://stranger@127.0.0.1:{sshd.port}/{NAME}.git")
    assert portal.look(repository).preview["failure"]["code"] == "unauthorized"


@pytest.mark.skipif(not can_listen("::1"), reason="This host has no IPv6.")
def test_a_url_has_an_ipv6_address(portal, serve):
    with serve(address="::1") as site:
        vpc(site)

        assert read(portal, site, site.url(NAME, "[::1]")) == {f"'/{NAME}.git'"}
    assert GitRepository.objects.get().url == site.url(NAME, "[::1]")


@for_each_row(
    ("text", "url", "path", "for_git"),
    [
        ("git@a.example:b/c.git", "ssh://git@a.example/~/b/c.git", "b/c.git", "git@a.example:b/c.git"),
        ("git@a.example:/b", "ssh://git@a.example/b", "/b", "ssh://git@a.example/b"),
        ("git@a.example:~bob/c", "ssh://git@a.example/~bob/c", "~bob/c", "ssh://git@a.example/~bob/c"),
        ("git@a.example:100%25/c", "ssh://git@a.example/~/100%2525/c", "100%25/c", "git@a.example:100%25/c"),
        ("git@[fd00::1]:c", "ssh://git@[fd00::1]/~/c", "c", "git@[fd00::1]:c"),
        ("ssh://bob@a.example:2222/~/c", "ssh://bob@a.example:2222/~/c", "c", "bob@a.example:c"),
        ("ssh://a.example/c", "ssh://git@a.example/c", "/c", "ssh://git@a.example/c"),
    ],
)
def test_a_path_that_begins_at_a_home_stays_one(text, url, path, for_git):
    remote = remotes.parse(text)

    assert (remote.url, remote.ssh_path, remote.git_url) == (url, path, for_git)
    assert remotes.parse(remote.url) == remote


@for_each_row("text", ["git@a.example:-c", "git@a.example:../c", "git@a.example:~", "git@[zz]:c", "git@a:"])
def test_a_short_form_that_names_no_repository_is_refused(text):
    with pytest.raises(Invalid):
        remotes.parse(text)


def test_a_forge_that_knows_no_homes_gets_the_path_from_the_root(portal, monkeypatch, host_keys):
    key = host_keys[0].with_suffix(".pub").read_text()
    monkeypatch.setattr("apps.contrib.git.remote.host_keys.scanned", lambda *_: (" ".join(key.split()[:2]),))

    assert portal.connected("git@gitlab.com:acme/vpc.git").url == "ssh://git@gitlab.com/acme/vpc.git"
