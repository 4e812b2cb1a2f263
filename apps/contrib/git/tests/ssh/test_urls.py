"""The forms of ssh URLs that people paste, each read from a real sshd."""

import getpass
from ipaddress import ip_network

import pytest

from apps.contrib.git.remote import checkouts, refs, remotes
from apps.contrib.git.remote.access import Access, Limits
from apps.contrib.git.tests.ssh.conftest import NAME, vpc
from apps.lib.errors import Invalid
from apps.lib.net import addresses, fetching
from tests.builders.git_daemons import can_listen, public_half
from tests.builders.git_servers import LOOPBACK
from tests.rows import for_each_row

ME = getpass.getuser()
pytestmark = [pytest.mark.slow, pytest.mark.needs("git", "ssh", "sshd")]


def access_to(site, **more):
    trusted, key = fetching.trusting("", 0, ""), site.key.read_text()
    site.authorize(public_half(site.key))
    allowed = (*LOOPBACK, ip_network("::1/128"))
    return Access(trusted, **{"allowed": allowed, "private_key": key, "host_keys": site.host_keys, **more})


def read(site, url):
    """List and fetch; return the commands that the server got."""
    remote, access, limits = remotes.parse(url), access_to(site), Limits(seconds=60)
    listing = refs.listed(remote, access, limits)
    with checkouts.fetched(remote, access, limits, ref="refs/tags/v1.0.0") as commit:
        assert commit.id == listing.head
    return {command.removeprefix("git-upload-pack ") for command in site.commands}


@pytest.mark.parametrize(
    ("url", "name", "stored", "asked"),
    [
        # Without a slash the path begins at the user's home, of which sshd of the test makes home/.
        ("{me}@localhost:acme/vpc.git", "home/acme/vpc", "ssh://{me}@localhost/~/acme/vpc.git", "'acme/vpc.git'"),
        ("{me}@localhost:/srv/vpc.git", "srv/vpc", "ssh://{me}@localhost/srv/vpc.git", "'/srv/vpc.git'"),
    ],
)
def test_the_short_form_is_read_as_git_reads_it(sshd, monkeypatch, url, name, stored, asked):
    monkeypatch.setitem(addresses.PORTS, "ssh", sshd.port)  # the short form has no port
    vpc(sshd, name)

    assert read(sshd, url.format(me=ME)) == {asked}
    assert remotes.parse(url.format(me=ME)).url == stored.format(me=ME)


def test_a_url_has_a_port_and_a_user_whom_the_server_may_refuse(sshd, refusal):
    vpc(sshd)

    assert read(sshd, f"ssh://{ME}@127.0.0.1:{sshd.port}/{NAME}.git/") == {f"'/{NAME}.git'"}
    stranger = remotes.parse(f"ssh://stranger@127.0.0.1:{sshd.port}/{NAME}.git")
    assert refusal(refs.listed, stranger, access_to(sshd), Limits(seconds=60)).code == "unauthorized"


@pytest.mark.skipif(not can_listen("::1"), reason="This host has no IPv6.")
def test_a_url_has_an_ipv6_address(serve):
    with serve(address="::1") as site:
        vpc(site)

        assert read(site, site.url(NAME, "[::1]")) == {f"'/{NAME}.git'"}


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
