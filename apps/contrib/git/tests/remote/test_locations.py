"""Locations of modules that registries name, in the words of go-getter."""

import pytest

from apps.contrib.git.remote import locations
from apps.contrib.git.remote.access import GitFailed
from tests.rows import for_each_row

COMMIT = "4d7a" * 10


@for_each_row(
    ("text", "url", "ref", "folder"),
    [
        ("git::https://a.example/acme/vpc.git?ref=v1.0.0", "https://a.example/acme/vpc.git", "v1.0.0", ""),
        ("git::https://a.example/acme/vpc?ref=refs/tags/v1", "https://a.example/acme/vpc", "v1", ""),
        (f"git::https://a.example:8443/vpc.git?depth=1&ref={COMMIT}", "https://a.example:8443/vpc.git", COMMIT, ""),
        ("git::https://a.example/vpc.git//modules/net?ref=v1", "https://a.example/vpc.git", "v1", "modules/net"),
        ("git::https://a.example/vpc.git//./net//?ref=v1", "https://a.example/vpc.git", "v1", "net"),
        ("git::https://a.example/vpc.git?ref=net%2Fv1.0.0", "https://a.example/vpc.git", "net/v1.0.0", ""),
        ("git::https://a.example/vpc.git?ref=v1\n", "https://a.example/vpc.git", "v1", ""),
        ("git::http://10.0.0.1/vpc.git?ref=v1", "http://10.0.0.1/vpc.git", "v1", ""),
        ("github.com/acme/vpc//sub?ref=v1", "https://github.com/acme/vpc", "v1", "sub"),
    ],
)
def test_git_over_https_is_read(text, url, ref, folder):
    found = locations.parse(text)
    assert (found.remote.url, found.ref, found.folder) == (url, ref, folder)
    assert found.commit == (ref if ref == COMMIT else "")


@for_each_row(
    ("text", "code", "said"),
    [
        ("", "bad_location", "is empty"),
        ("git::github.com/acme/vpc?ref=v1", "bad_location", "expected https://"),
        ("git::https://a.example/b c.git?ref=v1", "bad_location", "others than plain ASCII"),
        ("git::https://a.example/vpc.git?ref=v 1", "bad_location", "others than plain ASCII"),
        ("git::https://a.example/vpc.git?ref=v\x071", "bad_location", "others than plain ASCII"),
        ("git::https://a.example/vpc.git?ref=caf\u00e9", "bad_location", "others than plain ASCII"),
        ("git::https://a.example/vpc.git?ref=" + "1" * 2000, "bad_location", "more than 2,000 characters"),
        ("git::https://a.example/vpc.git?ref=", "not_pinned", "names no ref"),
        ("git::https://a.example/vpc.git?ref=a&ref=b", "bad_location", "expected ref once"),
        ("git::https://a.example/vpc.git?depth=x&ref=a", "bad_location", "depth as a number"),
        ("git::https://a.example/vpc.git?ref", "bad_location", "cannot be read"),
        ("git::https://a.example/vpc.git//a*?ref=v1", "bad_location", "a plain path"),
        ("git::https://a.example/vpc.git//a/..%2f..?ref=v1", "bad_location", "a plain path"),
        ("git::https://a.example/vpc.git//../vpc?ref=v1", "bad_location", "a plain path"),
        ("git::https://a.example/vpc.git//" + "a" * 201 + "?ref=v1", "bad_location", "a plain path"),
        ("git::https://a.example/vpc.git?sshkey=1&ref=a", "bad_location", "has 'sshkey'"),
        ("https://a.example/vpc.zip", "not_git", "an archive or a path"),
        ("git::git@a.example:vpc.git?ref=v1", "ssh_location", "an ssh key"),
        ("git::ssh://git@a.example/vpc.git?ref=v1", "ssh_location", "an ssh key"),
        ("git::git::https://a.example/vpc.git?ref=v1", "bad_location", "The URL begins with"),
        ("oci::a.example/vpc?ref=v1", "not_git", "begins with oci::"),
        ("git::https://?ref=v1", "bad_location", "The URL begins with"),
    ],
)
def test_all_else_is_refused_for_good(text, code, said):
    with pytest.raises(GitFailed, match=said) as failed:
        locations.parse(text)
    assert (failed.value.code, failed.value.is_final) == (code, True)


def test_what_may_be_secret_is_not_repeated():
    for text in ("git::https://user:pears@a.example/vpc.git?ref=v1", "git::ssh://git@a.example/b?ref=v1&sshkey=pears"):
        with pytest.raises(GitFailed) as failed:
            locations.parse(text)
        assert "pears" not in str(failed.value)


@for_each_row("text", ["x" * 1900, "git::https://a.example/" + "x" * 1900, "x" * 1900 + "::https://a.example"])
def test_a_long_one_is_not_repeated_in_full(text):
    with pytest.raises(GitFailed) as failed:
        locations.parse(f"{text}?ref=v1")
    assert "xxxxx" in str(failed.value)
    assert len(str(failed.value)) < 400
