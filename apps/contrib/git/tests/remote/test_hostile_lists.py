"""Lists of tags of servers other than Git, or that mean harm."""

import time

import pytest

from apps.contrib.git.remote import refs
from apps.contrib.git.remote.access import Limits
from apps.contrib.git.remote.remotes import Remote
from apps.contrib.git.tests.remote.asking import access_to, remote_of
from apps.lib.net import fetching
from apps.lib.net.outgoing import NotAnswered
from tests.rows import for_each_row

pytestmark = pytest.mark.needs("git")
SMART = {"Content-Type": "application/x-git-upload-pack-advertisement"}
ID = b"1" * 40


def packet(text: bytes) -> bytes:
    return b"%04x%s" % (len(text) + 4, text)


BEGIN = packet(b"# service=git-upload-pack\n") + b"0000"
HEAD = packet(ID + b" HEAD\0side-band-64k\n")


@for_each_row(
    ("body", "code"),
    [
        (packet(b"# service=git-receive-pack\n") + b"0000", "bad_answer"),
        (b"ref: refs/heads/main", "bad_answer"),
        (BEGIN + HEAD, "truncated"),
        (BEGIN + HEAD + b"00", "truncated"),
        (BEGIN + HEAD + b"0040" + ID, "truncated"),
        (BEGIN + HEAD + b"+0ff" + ID, "bad_answer"),
        (BEGIN + HEAD + b"0003", "bad_answer"),
        (BEGIN + HEAD + b"0001", "bad_answer"),
        (BEGIN + HEAD + packet(b"xyz refs/tags/v1"), "bad_answer"),
        (BEGIN + HEAD + packet(ID + b" refs/tags/v1\0v2"), "bad_answer"),
        (BEGIN + HEAD + packet(ID + b" refs/tags/v1^{}"), "bad_answer"),
        (BEGIN + HEAD + b"0000" + HEAD, "bad_answer"),
        (packet(b"ERR access denied\x1b[31m or not exported"), "bad_answer"),
        (BEGIN + packet(b"ERR access denied\x1b[31m or not exported"), "refused"),
    ],
)
def test_a_malformed_list_is_refused(site, limits, refusal, body, code):
    site.answer = lambda _: (200, SMART, body)

    refused = refusal(refs.listed, remote_of(site, "acme/vpc"), access_to(site), limits)

    assert refused.code == code
    assert str(refused).isprintable()


@for_each_row(
    ("kind", "code"), [("text/html; charset=utf-8", "login_page"), ("text/plain", "dumb_http"), ("", "dumb_http")]
)
def test_pages_and_plain_files_are_explained(site, limits, refusal, kind, code):
    site.answer = lambda _: (200, {"Content-Type": kind}, b"<html>Sign in</html>")

    assert refusal(refs.listed, remote_of(site, "acme/vpc"), access_to(site), limits).code == code


@for_each_row(
    ("location", "code"),
    [
        ("http://169.254.169.254/latest/meta-data", "private_address"),
        ("https://10.0.0.1/acme/vpc.git/info/refs?service=git-upload-pack", "private_address"),
        ("file:///etc/passwd", "bad_url"),
        ("ext::sh -c touch% /tmp/x", "bad_url"),
        ("ssh://git@localhost/acme/vpc", "bad_url"),
        ("/login?from=/acme/vpc", "bad_redirect"),
        ("/acme/vpc.git/info/refs?service=git-upload-pack", "redirect_loop"),
    ],
)
def test_a_redirect_that_leads_astray_is_refused(site, limits, refusal, location, code):
    site.answer = lambda path: (302, {"Location": location}, b"") if "login" not in path else (200, SMART, BEGIN)

    refused = refusal(refs.listed, remote_of(site, "acme/vpc"), access_to(site), limits)

    assert (refused.code, refused.is_final) == (code, True)


@for_each_row("url", ["https://127.0.0.1/a", "http://127.0.0.1/a", "ssh://git@127.0.0.1/a"])
def test_private_addresses_need_the_operators_leave(site, limits, refusal, url):
    remote = Remote(url.partition(":")[0], "127.0.0.1", remote_of(site, "a").port, "/a")
    access = access_to(site, allowed=(), host_keys=("ssh-ed25519 AAAA",))

    refused = refusal(refs.listed, remote, access, limits)

    assert (refused.code, refused.is_final) == ("private_address", True)
    assert "LARDER_OUTGOING_ALLOW" in refused.hint
    assert site.requests == []


def test_plain_http_to_a_public_address_is_refused(site, limits, refusal):
    remote = Remote("http", "8.8.8.8", 80, "/acme/vpc")

    assert refusal(refs.listed, remote, access_to(site), limits).code == "private_address"


def test_a_list_has_a_minute_or_less(site, monkeypatch, refusal):
    seen = []

    def opened(*_, limits, **__):
        seen.append(limits.total_seconds)
        raise NotAnswered("the server is away")

    monkeypatch.setattr(fetching, "opened", opened)
    for seconds in (240, 5):
        refusal(refs.listed, remote_of(site, "acme/vpc"), access_to(site), Limits(seconds=seconds))
    assert seen == [60, 5]


def endless():
    yield BEGIN + HEAD
    for number in range(10_000_000):
        yield packet(b"%s refs/heads/%d" % (ID, number)) * 1000


def hanging():
    yield BEGIN
    time.sleep(5)


@pytest.mark.slow
@for_each_row(("body", "code"), [(endless, "too_large"), (hanging, "too_slow")])
def test_endless_and_hanging_lists_end_in_time(site, refusal, body, code):
    site.answer = lambda _: (200, SMART, body())
    began = time.monotonic()

    refused = refusal(
        refs.listed, remote_of(site, "acme/vpc"), access_to(site), Limits(seconds=2, refs_bytes=1_000_000)
    )

    assert refused.code == code
    assert time.monotonic() - began < 4
