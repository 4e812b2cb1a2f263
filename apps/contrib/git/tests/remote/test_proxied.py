"""Repositories behind the outgoing HTTP proxy."""

import pytest

from apps.contrib.git.remote import checkouts, refs, remotes
from apps.contrib.git.tests.remote.asking import access_to, remote_of
from tests.builders.proxying import Proxy, proxying
from tests.needs import needs

pytestmark = pytest.mark.needs("git")


@pytest.fixture
@needs("git")
def proxy():
    with proxying() as started:
        yield started


def test_lists_and_fetches_go_through_the_proxy_with_its_password(site, proxy: Proxy, limits):
    proxy.password = "sesame-of-the-proxy"
    commit_id = site.repository("acme/vpc").commit({"main.tf": "x"})
    remote, access = remote_of(site, "acme/vpc"), access_to(site, proxy=proxy.url)

    assert refs.listed(remote, access, limits).head == commit_id
    listed = len(proxy.asked)
    with checkouts.fetched(remote, access, limits, ref="HEAD") as commit:
        assert commit.id == commit_id

    assert len(proxy.asked) > listed + 1  # Larder's look, then git's
    assert set(proxy.asked) == {f"CONNECT localhost:{remote.port}"}


def test_a_proxy_that_refuses_is_named_without_its_password(site, proxy, limits, refusal):
    proxy.password = "right"
    access = access_to(site, proxy=proxy.url.replace("right", "wrong-password"))

    refused = refusal(refs.listed, remote_of(site, "acme/vpc"), access, limits)

    assert refused.code == "proxy_failed"
    assert "wrong-password" not in f"{refused} {refused.hint}"


def test_the_proxy_is_asked_for_no_private_address(site, proxy, limits, refusal):
    access = access_to(site, proxy=proxy.url, allowed=())
    remote = remotes.Remote("https", "10.0.0.1", 443, "/acme/vpc.git")

    def fetch():
        with checkouts.fetched(remote, access, limits, ref="HEAD"):
            pass

    assert refusal(refs.listed, remote, access, limits).code == "private_address"
    assert refusal(fetch).code == "private_address"
    assert proxy.asked == []
